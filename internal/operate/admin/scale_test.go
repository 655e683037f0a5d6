package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/status"
)

// large is a relay with 10,000 repositories and 500 other relays, each in its own state, which name each other as much as they may.
func large(longest int) admin.Config {
	c := shown()
	s := fakeSync{details: map[grasp.RelayURL]status.Details{}}
	for i := range 500 {
		r := status.Relay{URL: grasp.RelayURL(fmt.Sprintf("wss://relay%03d.example.net/n%s", i, strings.Repeat("x", longest/10))), Phase: "live", Health: status.Healthy, Connected: true,
			Want: status.Count{Repositories: 100, Roots: 5000}, Confirmed: status.Count{Repositories: 100, Roots: 5000},
			Counters: status.Counters{Sources: status.Sources{Live: uint64(i * 1000), Catchup: 1 << 40}}, Uptime: new(0.987), Coverage: new(0.654)}
		switch i % 5 {
		case 1:
			r.Phase, r.Confirmed.Roots = "syncing", 17*i
		case 2:
			r.Phase, r.Health, r.Connected, r.Failures = "waiting", status.Degraded, false, i
			r.Cause, r.NextAttempt = status.Text("dial: "+strings.Repeat("y", longest)), status.Moment{Time: time.Date(2026, 11, 21, 1, 2, i, 0, time.UTC)}
		}
		var d status.Details
		for j := range 100 { // each repository names five relays
			n := (i*20 + j*101) % 10_000
			part := status.Part{Address: fmt.Sprintf("30617:%064x:repository-%d%s", n%977, n, strings.Repeat("z", longest)), Roots: 50, Confirmed: 51, Here: 400, Lacks: uint64(n % 3)}
			if r.Phase == "syncing" {
				part.Confirmed = n % 51
			}
			d.Parts = append(d.Parts, part)
		}
		s.relays, s.details[r.URL] = append(s.relays, r), d
	}
	c.Sync = s
	return c
}

// ask asks for a page as the operator's own browser does.
func askPage(ctx context.Context, pages http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, local(ctx, path))
	return w
}

// TestPagesAreSmallHoweverMuchThereIs: 10,000 repositories and 500 relays, of usual names, of long ones and of the longest.
func TestPagesAreSmallHoweverMuchThereIs(t *testing.T) {
	for _, longest := range []int{0, 100, 8000} {
		c := large(longest)
		pages := admin.New(c)
		for _, path := range []string{"/", "/relays", "/relays?page=10&state=syncing", "/repositories?page=7", "/repositories?q=repository-1&state=incomplete",
			"/relay?url=wss%3A%2F%2Frelay001.example.net%2Fn" + strings.Repeat("x", longest/10), "/repository?address=" + "30617:" + fmt.Sprintf("%064x", 20) + ":repository-20" + strings.Repeat("z", longest)} {
			w := askPage(t.Context(), pages, path)
			if w.Code != http.StatusOK || w.Body.Len() >= 300_000 {
				t.Errorf("%.100s: %d, %d bytes %.200s", path, w.Code, w.Body.Len(), w.Body)
			}
			if dir := os.Getenv("DUMP"); dir != "" {
				t.Log(longest, path[:min(50, len(path))], w.Body.Len())
				os.WriteFile(fmt.Sprintf("%s/%d-%s.html", dir, longest, strings.Map(func(r rune) rune {
					if r == '/' || r == '?' || r == '%' {
						return '_'
					}
					return r
				}, path[:min(20, len(path))])), w.Body.Bytes(), 0o644)
			}
		}
	}
}
