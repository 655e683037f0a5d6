package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graspd/graspd/internal/node"
)

// adminOf serves fixed documents.
func adminOf(t *testing.T, status, problems string) string {
	t.Helper()
	m := http.NewServeMux()
	m.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, status) })
	m.HandleFunc("GET /problems.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, problems) })
	m.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(problems, "stored") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "this is how it is")
	})
	m.HandleFunc("POST /retry", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "trying "+r.FormValue("url")) })
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL
}

const statusDocument = `{"relay":{"url":"wss://relay.example.org","version":"v1"},"store":{"events":5,"repositories":1,"head":9},"sync":{"relays":[]},"later":1}` + "\n"

func TestStatusExitCodes(t *testing.T) {
	data := t.TempDir()
	if _, err := node.LoadKey(data); err != nil {
		t.Fatal(err)
	}
	well := adminOf(t, statusDocument, `{"problems":[]}`)
	ill := adminOf(t, statusDocument, `{"problems":["bootstrap relay wss://a.example.net is dead","nothing is stored"]}`)
	broken := adminOf(t, "<html>", `{"problems":[]}`)
	const nobody = "http://127.0.0.1:1" // a port that was free a moment ago may be another test's by now
	empty := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(empty.Close)
	long := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 65 {
			_, _ = w.Write(make([]byte, 1<<20)) // whoever asks may have gone
		}
	}))
	t.Cleanup(long.Close)
	for _, c := range []struct {
		name, out, errs string
		code            int
		args            []string
	}{
		{"all is well", "5 events", "", exitOK, []string{"--admin", well}},
		{"host:port", "5 events", "", exitOK, []string{"--admin", strings.TrimPrefix(well, "http://") + "/"}},
		{"json", statusDocument, "", exitOK, []string{"--admin", well, "--json"}},
		{"problems", "5 events", "graspd: bootstrap relay wss://a.example.net is dead\ngraspd: nothing is stored\n", exitFail, []string{"--admin", ill}},
		{"json and problems", statusDocument, "graspd: nothing is stored\n", exitFail, []string{"--admin", ill, "--json"}},
		{"no JSON", "", broken + "/status.json", exitFail, []string{"--admin", broken}},
		{"another server", "", "HTTP status 404; is this the private listener", exitFail, []string{"--admin", empty.URL}},
		{"more than is read", "", "the answer is longer than 64 MiB", exitFail, []string{"--admin", long.URL}},
		{"nobody there", "", "no answer from a running graspd (--admin says", exitFail, []string{"--admin", nobody}},
		{"no URL", "", `--admin: "ftp://x" is not allowed: want a URL such as http://127.0.0.1:7335`, exitUsage, []string{"--admin", "ftp://x"}},
		{"arguments", "", `status takes no argument "now"`, exitUsage, []string{"now"}},
		{"healthy", "this is how it is\n", "", exitOK, []string{"--admin", well, "--health"}},
		{"not healthy", "", "graspd: this is how it is\n", exitFail, []string{"--admin", ill, "--health"}},
		{"retry", "trying wss://a.example.net/?x=1&y\n", "", exitOK, []string{"--admin", well, "--retry", "wss://a.example.net/?x=1&y", "--data", data}},
		{"haste", "", `--interval: "1ms"`, exitUsage, []string{"--watch", "--interval", "1ms"}},
	} {
		code, out, errs := call(t, "", nil, append([]string{"status"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("%s: %d\n%s%s", c.name, code, out, errs)
		}
		if len(c.args) == 3 && c.args[2] == "--json" && out != statusDocument {
			t.Errorf("%s: %s", c.name, out)
		}
	}
	if code, out, errs := call(t, "", map[string]string{"GRASPD_ADMIN": well}, "status"); code != exitOK || !strings.Contains(out, "5 events") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestStatusWatches: it goes on through troubles, and Ctrl-C is no failure.
func TestStatusWatches(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/problems.json":
			fmt.Fprint(w, `{"problems":["mind the gap"]}`)
		case asked.Add(1) == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, statusDocument)
		}
	}))
	t.Cleanup(s.Close)
	r := start(t, "status", "--watch", "--interval", "100ms", "--admin", s.URL)
	r.out.await(t, `(?s)5 events.*mind the gap.*HTTP status 503.*5 events.*mind the gap`)
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(r.out.String(), "\x1b") {
		t.Error("the screen is cleared where the output is no terminal")
	}
}

func TestStatusOfARunningRelay(t *testing.T) {
	us := serve(t, "--data", t.TempDir(), "--domain", "relay.example.org", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	code, out, errs := call(t, "", nil, "status", "--admin", base)
	if code != exitOK || !strings.Contains(out, "wss://relay.example.org, graspd ") || !strings.Contains(out, "graspd follows no relay") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}
