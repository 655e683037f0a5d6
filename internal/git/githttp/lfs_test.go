package githttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestLFS: whatever git-lfs asks for hears in its own form that nothing of it is kept here, also at contributors' places.
func TestLFS(t *testing.T) {
	w := open(t, settings{Config: githttp.Config{Contributors: true}})
	w.serve("r", emptyRepository(t))
	for _, url := range []string{w.url, "http://" + w.addr + path("unknown"), "http://" + w.addr + "/prs" + path("r")} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD"} {
			for _, rest := range []string{"", "/", "/locks", "/locks/verify", "/locks/1/unlock", "/objects/batch", "/objects/" + strings.Repeat("a", 64), "/x?y=z"} {
				got := w.askURL(t, method, url+"/info/lfs"+rest, map[bool]string{true: `{"ref":{}}`}[method == "POST"])
				said := struct {
					Message string `json:"message"`
					Docs    string `json:"documentation_url"`
				}{}
				err := json.Unmarshal([]byte(got.body), &said)
				if method == "HEAD" && got.body == "" {
					err, said.Message, said.Docs = nil, "Git LFS", "https://"
				}
				if got.status != http.StatusNotFound || got.head.Get("Content-Type") != "application/vnd.git-lfs+json" || err != nil ||
					!strings.Contains(said.Message, "Git LFS") || !strings.HasPrefix(said.Docs, "https://") {
					t.Errorf("%s %s%s: %+v (%v)", method, url, rest, got, err)
				}
			}
		}
	}
	for _, rest := range []string{"/info/lf", "/info/lfsx", "/lfs", "/info"} {
		if got := w.ask(t, "GET", rest, ""); got.status != http.StatusForbidden || !strings.Contains(got.body, "smart HTTP") {
			t.Errorf("%s: %+v", rest, got)
		}
	}
}

// TestGitPushesWithOptions: push options are taken and change nothing, in each version of the protocol, with and without a pack.
func TestGitPushesWithOptions(t *testing.T) {
	for version := range 3 {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			w := open(t, settings{})
			w.serve("r", emptyRepository(t))
			w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
				if head := make([]byte, 4); p.Push.NeedsPack() {
					if _, err := io.ReadFull(p.Pack, head); err != nil || string(head) != "PACK" {
						t.Errorf("the pack begins with %q (%v)", head, err)
					}
				}
				if len(p.Push.Options) == 0 || len(p.Push.Options) > gitwire.MaxPushOptions {
					t.Errorf("%d options", len(p.Push.Options))
				}
				return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
			})
			from := emptyRepository(t)
			history(t, from, 3, 10)
			long := "description=" + strings.Repeat("x", 5000)
			args := []string{"-c", fmt.Sprint("protocol.version=", version), "-c", "push.pushOption=one", "-C", from, "push", "-q"}
			for _, options := range [][]string{{}, {"-o", "ci.skip"}, {"-o", "ci.skip", "-o", long}, {"-o", ""}} {
				git(t, "", "", append(append(args, options...), w.url, "trunk:refs/heads/a")...)
			}
			var many []string
			for i := range 100 {
				many = append(many, "-o", fmt.Sprint("option ", i))
			}
			git(t, "", "", append(append(args, many...), w.url, "trunk:refs/heads/b")...)
			git(t, "", "", append(args, "-o", "ci.skip", w.url, ":refs/heads/b")...)
		})
	}
}
