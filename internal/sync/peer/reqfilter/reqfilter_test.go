package reqfilter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// folded is the Want of one relay for two repositories, one without an identifier, and so many root events.
func folded(t *testing.T, roots int64) (w *want.Want, items []want.Item) {
	t.Helper()
	f := wanttest.NewFold(t)
	here := []string{wanttest.Us, wanttest.Relay(1)}
	f.AddAll(f.Announce(wanttest.Key(0), "x", 1, here), f.Announce(wanttest.Key(1), "", 1, here))
	for at := range roots {
		f.AddAll(f.Issue(at, wanttest.Address(wanttest.Key(0), "x")))
	}
	f.Step()
	w = f.Wants[want.URL(wanttest.Relay(1))]
	return w, wanttest.Items(w)
}

// layer returns those of a layer.
func layer(w *want.Want, items []want.Item, l want.Layer) []want.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it want.Item) bool { return w.Layer(it) != l })
}

func texts(filters []nostr.Filter) string {
	var out []string
	for _, f := range filters {
		out = append(out, string(f.AppendJSON(nil)))
	}
	return strings.Join(out, "\n")
}

// TestTheFiltersOfALayer: an empty d is asked for by author, states are followed and not read, and root events are looked for under three tags.
func TestTheFiltersOfALayer(t *testing.T) {
	w, items := folded(t, 3)
	b := Bounds{Values: 2}
	for _, c := range []struct {
		layer want.Layer
		live  bool
		has   []string
		n     int
	}{
		{want.LayerAnnouncements, true, []string{`"kinds":[30617,30618]`}, 1},
		{want.LayerAnnouncements, false, []string{`{"kinds":[30617]}`}, 1},
		{want.LayerRepositories, true, []string{`"#d":["x"]`, `"authors":["` + wanttest.Key(1).String(), `"kinds":[5],"#a":["30618:`}, 6},
		{want.LayerRoots, true, []string{`"#e"`, `"#E"`, `"#q"`}, 6},
	} {
		filters := Of(w, c.layer, layer(w, items, c.layer), c.live, b)
		got := texts(filters)
		if len(filters) != c.n {
			t.Errorf("layer %d has %d filters, not %d:\n%s", c.layer, len(filters), c.n, got)
		}
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("layer %d lacks %s:\n%s", c.layer, s, got)
			}
		}
		if strings.Contains(got, `""`) {
			t.Errorf("layer %d asks for an empty value:\n%s", c.layer, got)
		}
	}
}

// TestAListIsWithinItsBounds: values are split by number and by bytes, a value that is too long stands alone, and none is lost.
func TestAListIsWithinItsBounds(t *testing.T) {
	var vals []string
	for i := range 10 {
		vals = append(vals, fmt.Sprint(i, strings.Repeat("v", 10*i)))
	}
	for _, b := range []Bounds{{Values: 3}, {Values: 100, Bytes: 100}, {Values: 2, Bytes: 60}, {Values: 1 << 20}} {
		var got []string
		for _, f := range AppendTags(nil, nil, 'a', vals, b) {
			list, bytes := f.Tags[0].Values, 0
			for _, v := range list {
				bytes += want.ValueBytes(v)
			}
			if len(list) == 0 || len(list) > b.Values || b.Bytes > 0 && len(list) > 1 && bytes > b.Bytes {
				t.Errorf("%+v: a list of %d values and %d bytes", b, len(list), bytes)
			}
			got = append(got, list...)
		}
		if !slices.Equal(got, vals) {
			t.Errorf("%+v: %q", b, got)
		}
	}
}

// TestASizeIsNotTooSmall: a REQ has no more filters and bytes than the size of its items says.
func TestASizeIsNotTooSmall(t *testing.T) {
	const roots = 60
	w, items := folded(t, roots)
	for _, values := range []int{1, 2, 3, MaxValues} {
		var s, parts Size
		var filters []nostr.Filter
		for l := want.LayerAnnouncements; l <= want.LayerRoots; l++ {
			of := layer(w, items, l)
			var part Size
			for _, it := range of {
				s.Add(w, it)
				part.Add(w, it)
			}
			parts = parts.Plus(part)
			filters = append(filters, Of(w, l, of, true, Bounds{Values: values})...)
		}
		if s != parts {
			t.Errorf("%+v is not the sum %+v", s, parts)
		}
		if most, bytes := s.Filters(values), len(texts(filters)); len(filters) > most || bytes > s.Message(values) {
			t.Errorf("%d values: %d filters of %d, %d bytes of %d", values, len(filters), most, bytes, s.Message(values))
		}
		if most := Most(len(w.Repos), roots, values); len(filters) > most+1 { // the authors of what has no identifier
			t.Errorf("%d values: %d filters of %d", values, len(filters), most)
		}
		less := s.WithoutRoot()
		if less.Items() != s.Items()-1 || less.Message(values) >= s.Message(values) {
			t.Errorf("%+v without a root event is %+v", s, less)
		}
	}
}

// TestATrialHasEveryValue of a repository once, with kinds, and no filter for an identifier that is empty.
func TestATrialHasEveryValue(t *testing.T) {
	w, items := folded(t, 3)
	repos := layer(w, items, want.LayerRepositories)
	got := Trial(w, append(slices.Clone(repos), repos...))
	if len(got) != 2 || len(got[0].Tags[0].Values) != 2 || !slices.Equal(got[1].Tags[0].Values, []string{"x"}) || len(got[0].Kinds) != 2 {
		t.Errorf("a trial asks\n%s", texts(got))
	}
	if f := Harmless(wanttest.Key(3)); !strings.Contains(texts([]nostr.Filter{f}), `"30617:`+wanttest.Key(3).String()+`:graspd"`) {
		t.Errorf("what nobody can object to is %s", f.AppendJSON(nil))
	}
	for _, it := range items {
		if n := Weight(w, it); n != 1 {
			t.Errorf("item %d weighs %d", it, n)
		}
	}
}

// TestTrialsBearSoMuch: each has as many values and bytes as is allowed, and one item at least; together they have all.
func TestTrialsBearSoMuch(t *testing.T) {
	f := wanttest.NewFold(t)
	for n := range 10 {
		f.AddAll(f.Announce(wanttest.Key(n), fmt.Sprint("repository-", n), 1, []string{wanttest.Us, wanttest.Relay(1)}))
	}
	f.Step()
	w := f.Wants[want.URL(wanttest.Relay(1))]
	repos := layer(w, wanttest.Items(w), want.LayerRepositories)
	one := w.Repository(repos[0]).AddressBytes + w.Repository(repos[0]).DBytes
	for name, c := range map[string]struct {
		bounds Bounds
		most   int
	}{
		"all":         {Bounds{Values: 100, Bytes: 1 << 20}, 10},
		"four values": {Bounds{Values: 4, Bytes: 1 << 20}, 4},
		"three sizes": {Bounds{Values: 100, Bytes: 3 * one}, 3},
		"nothing":     {Bounds{}, 1},
	} {
		trials := Trials(w, repos, c.bounds)
		if !slices.Equal(slices.Concat(trials...), repos) || len(trials[0]) != c.most || len(trials) != (len(repos)+c.most-1)/c.most {
			t.Errorf("%s: %v", name, trials)
		}
	}
	if Trials(w, nil, Bounds{}) != nil {
		t.Error("a trial of nothing")
	}
}
