package stamp

import "testing"

func TestEveryCgoPackageCarriesTheHashOfTheHeaders(t *testing.T) {
	stale, err := Stale("../..", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("run: make stamp (a header of native/include, a .def or an .inc file changed, and the go command would not notice): %v", stale)
	}
}
