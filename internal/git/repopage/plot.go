package repopage

import (
	"context"
	"fmt"
	"html/template"
	"strings"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	plotWeeks  = 12
	mostCounts = 5000 // events that a plot counts, the newest
	week       = 7 * 24 * 3600
)

// activity counts the events about a repository in each of the last weeks, the oldest week first. With more there are more than it counts.
func (p *Pages) activity(ctx context.Context, s *store.View, d string, set *grasp.Set) (weeks [plotWeeks]int, more bool, err error) {
	now := p.Now().Unix()
	since, most := now-plotWeeks*week+1, mostCounts
	f := nostr.Filter{Tags: []nostr.TagFilter{{Name: 'a', Values: addresses(d, set.Members)}}, Since: &since, Until: &now, Limit: &most}
	n := 0
	for pair, err := range s.Pairs(ctx, f, false) {
		if err != nil {
			return weeks, false, err
		}
		weeks[plotWeeks-1-(now-pair.Time)/week]++
		n++
	}
	return weeks, n == most, nil
}

// plot draws a bar for each week, and writes the sum in words. It returns "" where nothing has happened.
func plot(weeks [plotWeeks]int, more bool) template.HTML {
	sum, most := 0, 0
	for _, n := range weeks {
		sum, most = sum+n, max(most, n)
	}
	if sum == 0 {
		return ""
	}
	about := fmt.Sprintf("%d in the last %d weeks, %d in the last one", sum, plotWeeks, weeks[plotWeeks-1])
	if more {
		about = fmt.Sprintf("more than %d in the last %d weeks", sum, plotWeeks)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot" viewBox="0 0 %d 40" preserveAspectRatio="none" role="img" aria-label="Events: %s">`, plotWeeks*10, about)
	for i, n := range weeks {
		h := max(1, 40*n/most)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="8" height="%d"/>`, i*10+1, 40-h, h)
	}
	return template.HTML(b.String() + `</svg><p class="dim">` + about + "</p>")
}
