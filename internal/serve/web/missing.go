package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed missing.html
var missingSource string

var missing = template.Must(template.New("missing").Parse(missingSource))

// Way leads to another page.
type Way struct{ Path, Name string }

// Missing answers a request for something that is not there: who reads pages gets one that leads to the start page of the service, at the path home,
// and by ways that are nearer, and everybody else a line of text.
func (l Look) Missing(w http.ResponseWriter, req *http.Request, service, home, title, text string, ways ...Way) {
	page, named := Accepts(req.Header, "text/html")
	var b bytes.Buffer
	if !named || page == 0 || req.Method != http.MethodGet && req.Method != http.MethodHead || missing.Execute(&b, struct {
		Title, Text, Service, Home string
		Style                      template.CSS
		Icon                       template.URL
		Ways                       []Way
	}{title, text, service, home, l.Style(), l.Icon(), ways}) != nil {
		http.Error(w, "404 not found: "+text, http.StatusNotFound)
		return
	}
	l.Answer(w, req, http.StatusNotFound, HTML, b.Bytes())
}
