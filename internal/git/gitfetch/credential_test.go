package gitfetch_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/git/gitfetch"
)

// TestCredentialsGoToTheirServerAlone: every request has those for the repository that it goes to, after a redirect those for where that
// leads, and none where there are none.
func TestCredentialsGoToTheirServerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, "")
		n.names["other.example"] = []string{"1.1.1.2"}
		var mu sync.Mutex
		var seen []string
		note := func(q *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %s %q", q.Method, q.Host, q.Header["Authorization"]))
		}
		n.hosts["1.1.1.1:80"] = func(c io.Writer, q *http.Request) bool {
			note(q)
			_, err := io.WriteString(c, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://other.example/r.git/info/refs?service=git-upload-pack\r\n\r\n")
			return err == nil
		}
		n.hosts["1.1.1.2:80"] = func(c io.Writer, q *http.Request) bool {
			note(q)
			_, err := io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
			return err == nil
		}
		for _, host := range []string{"git.example", "other.example", "nowhere.example"} {
			seen = nil
			c := gitfetch.New(gitfetch.Config{Net: publicnet.Config{Lookup: n.lookup, DialContext: n.dial}, Authorization: func(repository string) string {
				if strings.HasPrefix(repository, "http://"+host+"/") {
					return "Nostr for " + repository
				}
				return ""
			}})
			if _, err := c.Advertised(t.Context(), gitfetch.Request{URL: url}); err == nil {
				t.Error("no error")
			}
			header := func(at string) string {
				if at != host {
					return "[]"
				}
				return `["Nostr for http://` + at + `/r.git"]`
			}
			mu.Lock()
			if want := []string{"GET git.example " + header("git.example"), "GET other.example " + header("other.example")}; !slices.Equal(seen, want) {
				t.Errorf("%s: %q, want %q", host, seen, want)
			}
			mu.Unlock()
		}
		seen = nil
		if _, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url}); err == nil || len(seen) != 2 || !strings.HasSuffix(seen[0], " []") {
			t.Errorf("without any: %q, %v", seen, err)
		}
	})
}
