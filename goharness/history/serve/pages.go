package serve

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"ridge/goharness/history"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

var pages = template.Must(template.New("").Funcs(template.FuncMap{"join": strings.Join}).Parse(`
{{define "head"}}<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
{{if .Refresh}}<meta http-equiv="refresh" content="{{.Refresh}}">{{end}}<title>ridge: {{.Title}}</title><style>
:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem}
.wide{overflow-x:auto}table{border-collapse:collapse}td,th{padding:.25rem .7rem;text-align:left;border-bottom:1px solid #8884;white-space:nowrap}
td.long{white-space:normal;overflow-wrap:anywhere;min-width:11rem}p,code{overflow-wrap:anywhere}
pre{overflow-x:auto}img{max-width:100%;background:#fff}nav a{margin-right:1rem}.note{opacity:.7}</style></head><body>
<nav><a href="/">Runs</a><a href="/cases">Cases</a><a href="/live">Live</a><a href="/api/v1/runs">JSON</a><a href="/metrics">Metrics</a></nav><h1>{{.Title}}</h1>{{end}}
{{define "runs"}}{{template "head" .}}{{if .Data}}<div class="wide"><table><tr><th>Run</th><th>Created</th><th>Kind</th><th>Results</th><th>Host</th><th>Chip</th><th>Machine</th><th>Software</th><th></th></tr>
{{range .Data}}<tr><td><a href="/run/{{.RunID}}">{{.RunID}}</a></td><td>{{.Created}}</td><td>{{.Kind}}</td><td>{{.Results}}</td><td>{{.Host}}</td><td>{{.Chip}}</td><td><a href="/?host={{.HostPrint}}">{{.HostPrint}}</a></td><td>{{.SoftPrint}}</td><td class="note">{{if .Baseline}}baseline{{end}}{{if not .Complete}} incomplete{{end}}</td></tr>
{{end}}</table></div>{{if ge (len .Data) 500}}<p class="note">The newest 500 runs are shown; ridge history list --all lists all.</p>{{end}}{{else}}<p>No run is stored yet. calibrate, bench, fusion, profile and verify keep their runs.</p>{{end}}</body></html>{{end}}
{{define "results"}}<tr><th>Case</th><th>Kernel</th><th>Status</th><th>Median ns</th><th>GFLOPS</th><th>GB/s</th><th>Reason</th></tr>
{{range .}}<tr><td class="long"><a href="/trend?case={{.ID}}">{{.ID}}</a></td><td>{{.Kernel}}</td><td>{{.Status}}</td><td>{{if .Time}}{{printf "%.5g" .Time.MedianNS}}{{end}}</td><td>{{if .GFLOPS}}{{printf "%.4g" .GFLOPS}}{{end}}</td><td>{{if .BandwidthGBps}}{{printf "%.4g" .BandwidthGBps}}{{end}}</td><td class="long">{{.Reason}}</td></tr>
{{end}}{{end}}
{{define "trend"}}{{template "head" .}}<p><img alt="trend of {{.Data.Case}}" src="/trend.svg?{{.Query}}"></p><pre>{{.Text}}</pre></body></html>{{end}}
{{define "cases"}}{{template "head" .}}<form action="/cases"><input name="q" value="{{.Query}}" aria-label="part of a case id"> <button>Find</button></form><ul>{{range .Data}}<li><a href="/trend?case={{.}}">{{.}}</a></li>{{end}}</ul></body></html>{{end}}
{{define "live"}}{{template "head" .}}{{with .Data}}<p>Run {{.RunID}}, started {{.Started}}: <code>{{join .Command " "}}</code></p><p>{{.Results}}{{if .Planned}} of {{.Planned}} planned{{end}} results{{range $s, $n := .Counts}} · {{$n}} {{$s}}{{end}}</p>{{if .Planned}}<p><progress max="{{.Planned}}" value="{{.Results}}"></progress></p>{{end}}<p class="note">last: {{.LastCase}} at {{.LastTime}}</p>
{{with .Newest}}<div class="wide"><table>{{template "results" .}}</table></div>{{end}}{{else}}<p>No run is going on.</p>{{end}}</body></html>{{end}}
`))

type page struct {
	Title   string
	Refresh int
	Data    any
	Query   any
	Text    string
}

func show(name string, p page) (answer, error) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, p); err != nil {
		return answer{}, err
	}
	return send("text/html; charset=utf-8", b.Bytes())
}

func (s *server) runs(r *http.Request) (answer, error) {
	runs, err := s.list(r)
	if err != nil {
		return answer{}, err
	}
	return show("runs", page{Title: "Runs", Data: runs})
}

// run shows a run by the page of reports.
func (s *server) run(r *http.Request) (answer, error) {
	st, err := s.open(r)
	if err != nil {
		return answer{}, err
	}
	defer st.Close()
	d, err := st.Document(r.Context(), r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	var b bytes.Buffer
	if err := report.WritePage(&b, []record.Calibration{d}); err != nil {
		return answer{}, err
	}
	return send("text/html; charset=utf-8", b.Bytes())
}

func (s *server) trend(r *http.Request) (answer, error) {
	t, err := s.trendOf(r)
	if err != nil {
		return answer{}, err
	}
	var b strings.Builder
	if err := t.Write(&b); err != nil {
		return answer{}, err
	}
	return show("trend", page{Title: "Trend", Data: t, Query: template.URL(r.URL.Query().Encode()), Text: b.String()})
}

func (s *server) trendPlot(r *http.Request) (answer, error) {
	t, err := s.trendOf(r)
	if err != nil {
		return answer{}, err
	}
	var b bytes.Buffer
	if err := t.Plot(&b); err != nil {
		return answer{}, notFound{err}
	}
	return send("image/svg+xml", b.Bytes())
}

func (s *server) cases(r *http.Request) (answer, error) {
	q := r.URL.Query().Get("q")
	st, err := s.open(r)
	if err != nil {
		return answer{}, err
	}
	defer st.Close()
	names, err := st.Cases(r.Context(), q, 1000)
	if err != nil {
		return answer{}, err
	}
	return show("cases", page{Title: "Cases", Data: names, Query: q})
}

func (s *server) live(_ *http.Request) (answer, error) {
	l, ok, err := history.Running(s.o.DataDir)
	if err != nil {
		return answer{}, err
	}
	p := page{Title: "Live", Refresh: 2}
	if ok {
		p.Data = l
	}
	return show("live", p)
}
