package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStatusShowsTheWorst: of many relays and repositories people see so many, the worst first, how many more there are and how to see
// them; a document has all.
func TestStatusShowsTheWorst(t *testing.T) {
	asked := ""
	m := http.NewServeMux()
	m.HandleFunc("GET /status.json", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		if r.FormValue("state") == "odd" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintln(w, "state: want one of these")
			return
		}
		relays := `{"url":"wss://a.example.net","phase":"live","health":"healthy"}`
		if r.FormValue("q") == "nobody" {
			relays = ""
		}
		fmt.Fprintf(w, `{"relay":{},"store":{},"sync":{"tracked":500,"matching":101,"relays":[%s]}}`, relays)
	})
	m.HandleFunc("GET /repositories.json", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		fmt.Fprint(w, `{"total":9000,"matching":41,"repositories":[{"address":"30617:ab:tool","relays":[]}]}`)
	})
	m.HandleFunc("GET /problems.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"problems":[]}`) })
	s := httptest.NewServer(m)
	defer s.Close()
	for _, c := range []struct {
		args        []string
		query, said string
	}{
		{nil, "most=20&order=worst", "and 100 more relays: --page 2"},
		{[]string{"--most", "50", "--page", "2", "--state", "dead"}, "most=50&order=worst&page=2&state=dead", "and 50 more relays: --page 3"},
		{[]string{"--find", "nobody"}, "most=20&order=worst&q=nobody", "graspd follows 500 relays; none of them fits the search"},
		{[]string{"--repositories"}, "most=20&order=worst", "and 40 more repositories"},
		{[]string{"--json"}, "", `"matching":101`},
		{[]string{"--json", "--find", "a b"}, "q=a+b", `"matching":101`},
	} {
		code, out, errs := call(t, "", nil, append([]string{"status", "--admin", s.URL}, c.args...)...)
		if code != exitOK || asked != c.query || !strings.Contains(out, c.said) {
			t.Errorf("%q: %d, asked %q, said %s%s", c.args, code, asked, out, errs)
		}
	}
	code, _, errs := call(t, "", nil, "status", "--admin", s.URL, "--state", "odd")
	if code != exitUsage {
		t.Errorf("an odd state: %d", code)
	}
	inOneLine(t, errs, "state: want one of these")
}
