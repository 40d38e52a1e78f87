package record

// The two ways of reading a calibration, each alone.
var QuickCalibration = quickCalibration

func CarefulCalibration(data []byte) (Calibration, error) {
	text, err := skim(data, "schema")
	if err != nil {
		return Calibration{}, err
	}
	return decodeCalibration(data, text)
}

// HasShape reports whether shapes know all that a schema says.
func HasShape(schema []byte) error {
	_, err := newShape(schema)
	return err
}

// KnownFields reports whether there are fields of these paths.
func KnownFields(paths ...string) error {
	_, err := calibrationShape().leavingOut(paths)
	return err
}
