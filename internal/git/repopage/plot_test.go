package repopage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/repopage"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestActivity(t *testing.T) {
	const week = 7 * 24 * 3600
	now := int64(at + 20*week)
	w := newWorld(t, "", func(c *repopage.Config) { c.Now = func() time.Time { return time.Unix(now, 0) } })
	of, a := tool(w)
	lacks(t, w.page(of), "<svg")
	var all []*nostr.Event
	for i, ago := range []int64{0, 1, week - 1, week, 3 * week, 12*week - 1, 12 * week, 15 * week, -5} {
		all = append(all, event(byte(10+i), now-ago, nip34.KindIssue, "x", a))
	}
	w.put(all...)
	now++ // so that no page is kept that was made before
	now += 10
	for _, e := range all[:1] {
		w.put(event(50, e.CreatedAt, nip34.KindStatusClosed, "", nostr.Tag{"e", e.ID.String(), "", "root"}))
	}
	page := w.page(of)
	has(t, page, `role="img" aria-label="Events: 6 in the last 12 weeks, 3 in the last one"`, `<rect x="111" y="0" width="8" height="40"/>`, `<rect x="11" y="39" width="8" height="1"/>`)
	if strings.Count(page, "<rect") != 12 {
		t.Errorf("%d bars", strings.Count(page, "<rect"))
	}
}
