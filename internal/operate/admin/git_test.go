package admin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/status"
)

// hosted is how a host of repositories may stand.
// host is hosting with a disk of its own.
type host struct {
	status *status.Git
	disk   *store.Disk
	room   error
}

func (h host) Status() *status.Git                                    { return h.status }
func (h host) Disk() *store.Disk                                      { return h.disk }
func (h host) Room() error                                            { return h.room }
func (h host) Repositories(context.Context) map[string]status.GitLack { return nil }

func hosted() *status.Git {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return &status.Git{
		Repositories: 1500, Bytes: 3 << 30, Pushes: 2, Fetches: 4, Uploads: 5, UploadBytes: 6, Waiting: 7,
		Waits:     []status.Wait{{ID: "ab12", Kind: nip34.KindState, Repository: "30617:aa:<b>tool", Why: "until 2 branches \u202eand tags are complete here", Until: status.Moment{Time: at}}},
		Refused:   []status.Refusal{{At: status.Moment{Time: at.Add(-time.Hour)}, Repository: "30617:aa:tool", Reason: "no state event for this push: <i>"}},
		Processes: []status.Processes{{Kind: "upload", Running: 1, Queued: 2, Refused: 3, Ended: 4000, Failed: 5}},
	}
}

// TestHostingIsTold: in the document byte by byte, and on the page; without hosting nothing of it.
func TestHostingIsTold(t *testing.T) {
	c := here
	if got := get(t, c, "GET", "/status.json").Body.String(); strings.Contains(got, "git") {
		t.Error(got)
	}
	if page := get(t, c, "GET", "/").Body.String(); strings.Contains(page, `<h2 id="h-git">`) || strings.Contains(page, "The last pushes") {
		t.Error(page)
	}
	c.Git = host{status: hosted()}
	const want = `"git":{"repositories":1500,"bytes":3221225472,"pushes_under_way":2,"fetches_under_way":4,"uploads":5,"upload_bytes":6,"waiting_events":7,` +
		`"waits":[{"id":"ab12","kind":30618,"repository":"30617:aa:\u003cb\u003etool","why":"until 2 branches ` + "\u202e" + `and tags are complete here","until":"2026-11-20T12:00:00Z"}],` +
		`"refused_pushes":[{"at":"2026-11-20T11:00:00Z","repository":"30617:aa:tool","reason":"no state event for this push: \u003ci\u003e"}],` +
		`"processes":[{"kind":"upload","running":1,"queued":2,"refused":3,"ended":4000,"failed":5}]}}`
	if got := get(t, c, "GET", "/status.json"); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
		t.Errorf("%s\nwant\n%s", got.Body, want)
	}
	page := get(t, c, "GET", "/").Body.String()
	for _, s := range []string{
		`<h2 id="h-git">Git</h2>`, "1\u2009500", "3.0 GiB", "pushes under way</dt><dd>2<", "fetches under way</dt><dd>4<", "events that wait</dt><dd>7<", "uploads that wait</dt><dd>5<",
		`title="2026-11-20 12:00:00">2026-11-20 12:00</td>`, `<td data-label="Kind" title="ab12">30618</td>`, "30617:aa:&lt;b&gt;tool", `href="repository?address=30617%3Aaa%3A%3Cb%3Etool"`, `until 2 branches \u202eand tags`,
		"2026-11-20 11:00:00</td>", "no state event for this push: &lt;i&gt;",
		`<th scope="row">upload</th><td class="n" data-label="Running">1</td><td class="n" data-label="Queued">2</td><td class="n" data-label="Refused">3</td><td class="n" data-label="Ended">4` + "\u2009" + `000</td><td class="n" data-label="Failed">5</td>`,
	} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %s", s)
		}
	}
}
