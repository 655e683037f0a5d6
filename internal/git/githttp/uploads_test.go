package githttp

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/serve/front"
)

// TestWhoHadMostTurnsGivesWay: turns under way count beside those that have ended. Of that party the push gives way that began last and has not brought
// all yet; and none for who had turns for longer.
func TestWhoHadMostTurnsGivesWay(t *testing.T) {
	now := time.Unix(1e9, 0)
	visitors := map[string]*front.Visitor{}
	for _, name := range []string{"a", "b", "c", "d"} {
		visitors[name] = new(front.Visitor)
	}
	type push struct {
		of    string
		since int // seconds
		whole bool
	}
	for what, c := range map[string]struct {
		pushes []push
		had    map[string]int
		want   int // which push; -1 is none
	}{
		"turns under way":            {[]push{{"a", 20, false}, {"b", 50, false}, {"c", 30, false}}, nil, 1},
		"turns of the party":         {[]push{{"a", 40, false}, {"b", 50, false}, {"a", 30, false}}, nil, 2},
		"turns that have ended":      {[]push{{"a", 20, false}, {"b", 50, false}, {"c", 30, false}}, map[string]int{"a": 60}, 0},
		"what began last":            {[]push{{"a", 30, false}, {"a", 5, false}, {"a", 20, false}}, nil, 1},
		"what is not whole":          {[]push{{"a", 30, false}, {"a", 5, true}, {"a", 20, false}, {"b", 10, false}}, nil, 2},
		"who waits had most":         {[]push{{"a", 30, false}, {"b", 10, false}}, map[string]int{"d": 60}, -1},
		"who waits had less":         {[]push{{"a", 30, false}, {"b", 10, false}}, map[string]int{"d": 20}, 0},
		"long ago is not for ever":   {[]push{{"a", 3600, false}, {"b", 10, false}}, map[string]int{"b": 100}, 1},
		"nothing is left to be sent": {[]push{{"a", 30, true}}, nil, -1},
	} {
		u := newUploads(fair.New(fair.Config{Total: 32}), fair.New(fair.Config{Total: 2}))
		var turns []*turn
		for _, p := range c.pushes {
			x := &turn{of: visitors[p.of], party: p.of, raw: &body{over: p.whole}, began: now.Add(-time.Duration(p.since) * time.Second)}
			u.turns[x] = struct{}{}
			u.running[x.of]++
			turns = append(turns, x)
		}
		for who, s := range c.had {
			u.had.Add(now, who, time.Duration(s)*time.Second)
		}
		for range 10 { // in whichever order they are looked at
			got := u.greediest(now, &turn{of: visitors["d"], party: "d"})
			if c.want < 0 && got != nil || c.want >= 0 && got != turns[c.want] {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
}
