package capacity

import (
	"testing"

	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// TestWhatARelayTells is believed as far as it is plausible and of use.
func TestWhatARelayTells(t *testing.T) {
	for _, c := range []struct {
		told                   Limits
		subs, bytes, page, ids int
		live, stored, spare    int
	}{
		{Limits{}, 19, 120 * 1024, 500, 100, 16, 2, 1},
		{Limits{MaxSubscriptions: -1, MaxMessage: -1, MaxLimit: -1}, 19, 120 * 1024, 500, 100, 16, 2, 1},
		{Limits{MaxSubscriptions: 1}, 1, 120 * 1024, 500, 100, 0, 1, 0},
		{Limits{MaxSubscriptions: 3}, 3, 120 * 1024, 500, 100, 1, 1, 1},
		{Limits{MaxSubscriptions: 1000, MaxMessage: 100, MaxLimit: 20}, 200, 120 * 1024, 20, 20, 197, 2, 1},
		{Limits{MaxMessage: 64 * 1024, MaxLimit: 300}, 19, 64 * 1024, 300, 300, 16, 2, 1},
		{Limits{MaxMessage: 40 * 1024, MaxLimit: 5000}, 19, 40 * 1024, 500, 100, 16, 2, 1},
		{Limits{MaxMessage: 16384}, 19, 16384, 500, 100, 16, 2, 1},
		{Limits{MaxMessage: 4096}, 19, 4096, 500, 45, 16, 2, 1},
		{Limits{MaxMessage: 4095}, 19, 120 * 1024, 500, 100, 16, 2, 1},
	} {
		got := Of(c.told, 100)
		if got.subs != c.subs || got.bytes != c.bytes || got.Page() != c.page || got.IDs() != c.ids || got.Live() != c.live || got.Stored() != c.stored || got.Spare() != c.spare {
			t.Errorf("%+v makes %+v: %d live, %d stored, %d spare", c.told, got, got.Live(), got.Stored(), got.Spare())
		}
	}
}

// TestWhatARefusalTeaches: what the relay names gets smaller, all of it where it names nothing, and nothing below what is asked at least.
func TestWhatARefusalTeaches(t *testing.T) {
	r := Refused{Filters: 8, Longest: 80, Bytes: 40_000}
	for _, c := range []struct {
		text                   string
		filters, values, bytes int
	}{
		{"invalid: too many filters", 4, 100, 120 * 1024},
		{"invalid: too many tag values", 10, 40, 120 * 1024},
		{"invalid: message too large", 10, 100, 20_000},
		{"invalid: too big", 4, 40, 20_000},
	} {
		got := Of(Limits{}, 100)
		if got.Dense() != DenseValues {
			t.Fatalf("%d values at first", got.Dense())
		}
		got.Learn(c.text, r)
		if got.filters != c.filters || got.values != c.values || got.bytes != c.bytes || got.Dense() != c.values {
			t.Errorf("%q teaches %+v", c.text, got)
		}
		got.Learn("invalid: too big", Refused{1, 1, 1, false})
		if got.filters != fewestFilters || got.values != FewestValues || got.bytes != leastMessage {
			t.Errorf("after %q at least %+v", c.text, got)
		}
	}
	c := Of(Limits{}, 100)
	for n := 0; c.HalvePage(); n++ {
		if c.Page() < smallestPage || n > 10 {
			t.Fatalf("a page of %d events", c.Page())
		}
	}
	for range 20 {
		c.HalveREQs()
		c.FewerIDs(c.IDs() / 2)
		c.FewerValues(c.values / 2)
	}
	if c.subs != 1 || c.IDs() != 1 || c.values != FewestValues || c.Dense() != FewestValues || c.Page() != smallestPage {
		t.Errorf("at least %+v", c)
	}
	if c.OtherLimit(0); c.Limit() != 1 {
		t.Error("the limit that was refused is asked again")
	}
	if c.OtherLimit(1); c.Limit() != 0 {
		t.Error("a limit of 1 is refused, and kept")
	}
	if c = Of(Limits{MaxLimit: 400, MaxMessage: 70_000}, 100); c.IDs() != 400 {
		t.Errorf("%d ids", c.IDs())
	}
	if c.UsualIDs(); c.IDs() != idsPerFetch {
		t.Errorf("%d ids where nothing is told", c.IDs())
	}
}

// TestWhatIsTooLargeNow: a REQ that was refused is too large from then on, as long as there are smaller ones.
func TestWhatIsTooLargeNow(t *testing.T) {
	for text, smaller := range map[string]func(Refused) Refused{
		"invalid: too many filters":    func(r Refused) Refused { return Refused{r.Filters / 2, r.Longest, r.Bytes, r.Again} },
		"invalid: too many tag values": func(r Refused) Refused { return Refused{r.Filters, r.Longest / 2, r.Bytes, r.Again} },
		"invalid: message too large":   func(r Refused) Refused { return Refused{r.Filters, r.Longest, r.Bytes / 2, r.Again} },
	} {
		c, r := Of(Limits{}, 100), Refused{Filters: 10, Longest: 100, Bytes: 100_000}
		if c.Exceeds(r) {
			t.Fatalf("%q: too large before anything was refused", text)
		}
		c.Learn(text, r)
		if !c.Exceeds(r) || c.Exceeds(smaller(r)) {
			t.Errorf("%q: %+v", text, c)
		}
	}
	c := Of(Limits{}, 100)
	root := Refused{Filters: 3, Longest: 1, Bytes: 500}
	if c.Learn("invalid: too many filters", root); c.Exceeds(root) || c.filters != 3 {
		t.Errorf("a root event has no room after one refusal: %+v", c)
	}
	root.Again = true
	if c.Learn("invalid: too many filters", root); !c.Exceeds(root) || c.filters != 2 {
		t.Errorf("it has room after another one: %+v", c)
	}
}

// TestWhatAllREQsBear together is known when one was refused for it.
func TestWhatAllREQsBear(t *testing.T) {
	c := Of(Limits{}, 100)
	if !c.Bears(1<<30, 1<<30) {
		t.Error("a bound that nobody told")
	}
	c.BoundTotal(1600)
	if !c.Bears(1600, 0) || c.Bears(1600, 1) {
		t.Errorf("%+v", c)
	}
	if c.LowerTotal(); !c.Bears(1000, 500) || c.Bears(1000, 501) {
		t.Errorf("%+v leaves no room", c)
	}
	if c.BoundTotal(1); !c.Bears(0, 1) {
		t.Error("nothing is borne")
	}
	if c.LowerTotal(); !c.Bears(0, 1) {
		t.Error("a bound of nothing is none")
	}
}

// TestAREQFits by its filters, and by its bytes.
func TestAREQFits(t *testing.T) {
	var s reqfilter.Size
	s.Add(nil, want.Announcements)
	c := Of(Limits{}, 100)
	if !c.Fits(s, 100) {
		t.Error("the announcements do not fit")
	}
	few, short := c, c
	few.filters = 0
	short.bytes = s.Message(100) - 1
	if few.Fits(s, 100) || short.Fits(s, 100) {
		t.Error("what is too large fits")
	}
	if n := c.ValuesFor(10, 100); n != 100 {
		t.Errorf("%d values for little", n)
	}
	if n := c.ValuesFor(10, 100_000); n != DenseValues {
		t.Errorf("%d values for much", n)
	}
	if b := c.Bounds(); b.Values != 100 || b.Bytes != 60_000 || c.Frame() != 60_000 {
		t.Errorf("%+v, frames of %d bytes", b, c.Frame())
	}
	short.bytes = 8 << 10
	if b := short.Bounds(); b.Bytes != 8<<10-3<<10 || short.Frame() != 7<<9 {
		t.Errorf("%+v, frames of %d bytes where messages are short", b, short.Frame())
	}
}

// TestAMessageThatWasTooLong is halved, down to the least, whatever the relay tells.
func TestAMessageThatWasTooLong(t *testing.T) {
	for _, told := range []int{0, 20_000, 5000} {
		c := Of(Limits{MaxMessage: told}, 100)
		for n, before := 0, c.bytes; ; n++ {
			shorter := c.MessageTooLong(before)
			if shorter != (c.bytes < before) || n > 6 {
				t.Fatalf("of %d bytes %d, shorter %v", before, c.bytes, shorter)
			}
			if !shorter {
				break
			}
			before = c.bytes
		}
		if c.bytes != leastMessage || c.IDs() != 45 || c.Bounds().Values != 45 || c.Bounds().Bytes != 1024 || c.Frame() != 1536 {
			t.Errorf("told %d: %+v, %+v", told, c, c.Bounds())
		}
	}
	c := Of(Limits{MaxMessage: 5000}, 100)
	if c.MessageTooLong(100_000); c.bytes != 5000 {
		t.Errorf("%d bytes after a longer message was refused", c.bytes)
	}
}
