package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/serve/web"
)

func ask(body string, status int, headers ...string) *http.Response {
	rec, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	web.Look{}.Answer(rec, req, status, web.HTML, []byte(body))
	return rec.Result()
}

func TestAnswer(t *testing.T) {
	long := strings.Repeat("a page\n", 1000)
	for accepted, packed := range map[string]bool{"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0, br": false, "deflate": false, "*": true, "*;q=0": false, "gzip;q=0, *": false, "identity, *;q=0.1": true, "x-gzip": true, "x-gzip;q=0, gzip": true, "gzip2": false, "gzip ; Q=1.000": true, "gzip;q=x": false} {
		res := ask(long, 200, "Accept-Encoding", accepted)
		var r io.Reader = res.Body
		if packed {
			var err error
			if r, err = gzip.NewReader(res.Body); err != nil {
				t.Fatalf("%q: %v", accepted, err)
			}
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != long || (res.Header.Get("Content-Encoding") == "gzip") != packed || packed && res.ContentLength > 500 {
			t.Errorf("%q: %d bytes, %v, %v", accepted, len(got), err, res.Header)
		}
		if res.Header.Get("Vary") != "Accept, Accept-Encoding" || !strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
			t.Errorf("%v", res.Header)
		}
	}
	if res := ask("short", 200, "Accept-Encoding", "gzip"); res.Header.Get("Content-Encoding") != "" {
		t.Error("a short page is compressed")
	}
}

func TestWhatHasNotChangedIsNotSent(t *testing.T) {
	long := strings.Repeat("a page\n", 1000)
	plain, packed := ask(long, 200).Header.Get("ETag"), ask(long, 200, "Accept-Encoding", "gzip").Header.Get("ETag")
	if plain == packed || plain == "" || ask(long+"x", 200).Header.Get("ETag") == plain {
		t.Errorf("%s, %s", plain, packed)
	}
	for _, c := range []struct {
		tag    string
		status int
	}{{plain, 304}, {"W/" + plain, 304}, {`"x", ` + plain, 304}, {"*", 304}, {packed, 200}, {`"x"`, 200}, {"", 200}} {
		res := ask(long, 200, "If-None-Match", c.tag)
		if b, _ := io.ReadAll(res.Body); res.StatusCode != c.status || c.status == 304 && (len(b) != 0 || res.Header.Get("ETag") != plain) {
			t.Errorf("%s: %d, %d bytes", c.tag, res.StatusCode, len(b))
		}
	}
	if res := ask(long, 404, "If-None-Match", "*"); res.StatusCode != 404 || res.Header.Get("ETag") != "" {
		t.Errorf("a page that says what is wrong: %d", res.StatusCode)
	}
}

func TestImagesOfTheOperator(t *testing.T) {
	rec, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	web.Look{}.Answer(rec, req, 200, web.HTML, nil, "https://a.example/i.png", "", "http://b.example:81/x", "javascript:x", "https://c;script-src *")
	if p := rec.Header().Get("Content-Security-Policy"); !strings.HasSuffix(p, "; img-src data: https://a.example http://b.example:81") {
		t.Error(p)
	}
}
