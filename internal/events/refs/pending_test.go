package refs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

func tips(names ...string) (list []refs.Tip) {
	for _, n := range names {
		list = append(list, refs.Tip{Event: id(n), ID: oid("tip of " + n)})
	}
	return list
}

// at is an address of no network.
func at(address string) refs.From { return refs.From{Address: address} }

// fill begins uploads of one tip each.
func fill(pd *refs.Pending, now int64, n int, of nip34.Address, from string) {
	for i := range n {
		pd.Begin(now, of, at(from), tips(fmt.Sprint(of, from, now, i)))
	}
}

// try is what a push of one more tip hears.
func try(pd *refs.Pending, now int64, of nip34.Address, from string) refs.Cause {
	in := standing(refs.Projection{}, members("alice"))
	in.Of, in.Pending, in.Now = of, pd, now
	p := push(pending("one more") + ":>1")
	p.From = at(from)
	return refs.Judge(in, p).Results[0].Cause
}

func TestBoundsOfUploads(t *testing.T) {
	here, there := repo("alice", "d"), repo("bob", "d")
	for _, tc := range []struct {
		name   string
		before func(*refs.Pending)
		want   refs.Cause
	}{
		{"none", func(*refs.Pending) {}, refs.None},
		{"almost in the repository", func(pd *refs.Pending) { fill(pd, noon, refs.MaxRepositoryTips-1, here, "b") }, refs.None},
		{"in the repository", func(pd *refs.Pending) { fill(pd, noon, refs.MaxRepositoryTips, here, "b") }, refs.PendingRepository},
		{"in another repository", func(pd *refs.Pending) { fill(pd, noon, refs.MaxRepositoryTips, there, "b") }, refs.None},
		{"almost from the address", func(pd *refs.Pending) { spread(pd, noon, refs.MaxAddressTips-1, "a") }, refs.None},
		{"from the address", func(pd *refs.Pending) { spread(pd, noon, refs.MaxAddressTips, "a") }, refs.PendingAddress},
		{"almost from the address, and many that never began", func(pd *refs.Pending) {
			spread(pd, noon, refs.MaxAddressTips-1, "a")
			for i := range refs.MaxAddressTips {
				pd.Cancel(pd.Begin(noon, here, at("a"), tips(fmt.Sprint("never ", i))))
			}
		}, refs.None},
		{"from the address, and some that never began", func(pd *refs.Pending) {
			pd.Cancel(pd.Begin(noon, here, at("a"), tips("never", "begun")))
			pd.Cancel(99)
			spread(pd, noon, refs.MaxAddressTips, "a")
		}, refs.PendingAddress},
		{"from another address", func(pd *refs.Pending) { spread(pd, noon, refs.MaxAddressTips, "b") }, refs.None},
		{"from the address, dropped since", func(pd *refs.Pending) {
			for i := range refs.MaxAddressTips {
				pd.Drop(pd.Begin(noon, there, at("a"), tips(fmt.Sprint(i))))
			}
		}, refs.PendingAddress},
		{"from the address, almost an hour ago", func(pd *refs.Pending) { spread(pd, noon-3599, refs.MaxAddressTips, "a") }, refs.PendingAddress},
		{"from the address, an hour ago", func(pd *refs.Pending) { spread(pd, noon-3600, refs.MaxAddressTips, "a") }, refs.None},
		{"bytes in the repository", func(pd *refs.Pending) { pd.Resize(pd.Begin(noon, here, at("b"), tips("x")), refs.MaxRepositoryBytes) }, refs.PendingRepository},
		{"almost, in bytes", func(pd *refs.Pending) { pd.Resize(pd.Begin(noon, here, at("a"), tips("x")), refs.MaxRepositoryBytes-1) }, refs.None},
		{"bytes from the address", func(pd *refs.Pending) { pd.Resize(pd.Begin(noon, there, at("a"), tips("x")), refs.MaxAddressBytes) }, refs.PendingAddress},
		{"in all", func(pd *refs.Pending) { many(pd, noon, refs.MaxTips) }, refs.PendingAll},
		{"almost in all", func(pd *refs.Pending) { many(pd, noon, refs.MaxTips-1) }, refs.None},
		{"in all within the hour", func(pd *refs.Pending) {
			for i := range refs.MaxHourTips {
				pd.Drop(pd.Begin(noon-3599, there, at(fmt.Sprint(i/100)), tips(fmt.Sprint(i))))
			}
		}, refs.PendingAll},
		{"bytes in all", func(pd *refs.Pending) {
			for i := range 16 {
				pd.Resize(pd.Begin(noon, repo("bob", fmt.Sprint(i)), at(fmt.Sprint(i)), tips(fmt.Sprint(i))), refs.MaxPendingBytes/16)
			}
		}, refs.PendingAll},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var pd refs.Pending
			tc.before(&pd)
			if got := try(&pd, noon, here, "a"); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// Of two tips in one push the second is one too many.
func TestBoundsWithinOnePush(t *testing.T) {
	here := repo("alice", "d")
	for _, tc := range []struct {
		before func(*refs.Pending)
		want   string
	}{
		{func(*refs.Pending) {}, "ok ok"},
		{func(pd *refs.Pending) { fill(pd, noon, refs.MaxRepositoryTips-1, here, "b") }, "ok pending_repository"},
		{func(pd *refs.Pending) { spread(pd, noon, refs.MaxAddressTips-1, "a") }, "ok pending_address"},
		{func(pd *refs.Pending) { many(pd, noon, refs.MaxTips-1) }, "ok pending_all"},
	} {
		var pd refs.Pending
		tc.before(&pd)
		in := standing(refs.Projection{}, members("alice"))
		in.Pending = &pd
		p := push("refs/nostr/" + strings.Repeat("0", 64) + ":>1 refs/nostr/" + strings.Repeat("1", 64) + ":>2")
		p.From = at("a")
		wantVerdict(t, refs.Judge(in, p), tc.want, "")
	}
}

// spread fills an address's bound in several repositories.
func spread(pd *refs.Pending, now int64, n int, from string) {
	for i := range n {
		pd.Begin(now, repo("bob", fmt.Sprint(i/8)), at(from), tips(fmt.Sprint(from, i)))
	}
}

func many(pd *refs.Pending, now int64, n int) {
	for i := range n {
		pd.Begin(now, repo("bob", fmt.Sprint(i/8)), at(fmt.Sprint(i/8)), tips(fmt.Sprint(i)))
	}
}

func TestResize(t *testing.T) {
	var pd refs.Pending
	a, b := pd.Begin(noon, repo("alice", "d"), at("a"), tips("1")), pd.Begin(noon, repo("alice", "d"), at("b"), tips("2"))
	c, d := pd.Begin(noon, repo("bob", "d"), at("c"), tips("3")), pd.Begin(noon, repo("bob", "e"), at("c"), tips("4"))
	for _, step := range []struct {
		n     uint64
		bytes int64
		want  refs.Cause
	}{
		{a, 100, refs.None}, {b, refs.MaxRepositoryBytes - 100, refs.None}, {a, 101, refs.PendingRepository}, {a, 100, refs.None},
		{c, 100, refs.None}, {d, refs.MaxAddressBytes - 100, refs.None}, {d, refs.MaxAddressBytes - 99, refs.PendingAddress}, {d, refs.MaxAddressBytes - 100, refs.None}, {99, 1 << 40, refs.None},
	} {
		if got := pd.Resize(step.n, step.bytes); got != step.want {
			t.Errorf("%d to %d: %v, want %v", step.n, step.bytes, got, step.want)
		}
	}
	if want := int64(100 + refs.MaxRepositoryBytes - 100 + 100 + refs.MaxAddressBytes - 100); pd.Bytes() != want {
		t.Errorf("%d bytes, want %d", pd.Bytes(), want)
	}
	for i := range 16 {
		n := pd.Begin(noon, repo("bob", fmt.Sprint("more", i)), at(fmt.Sprint("more", i)), tips("x"))
		if got, full := pd.Resize(n, refs.MaxRepositoryBytes), i >= 14; (got == refs.PendingAll) != full {
			t.Errorf("the %d. more: %v", i, got)
		}
	}
}

// An event finds its commit where it waits for a repository that it names, and frees its name everywhere.
func TestEventsFindTheirCommits(t *testing.T) {
	here, there := repo("alice", "d"), repo("bob", "d")
	tip := pullRequest("pr", 1, "tip of pr", "alice")
	for _, tc := range []struct {
		name        string
		of          nip34.Address
		tips        []refs.Tip
		pr          refs.PullRequest
		found, gone bool
	}{
		{"its tip", here, tips("pr"), tip, true, true},
		{"its tip among others", here, tips("x", "pr", "y"), tip, true, false},
		{"another tip", here, tips("pr"), pullRequest("pr", 1, "other", "alice"), false, true},
		{"another tip among others", here, tips("pr", "x"), pullRequest("pr", 1, "other", "alice"), false, false},
		{"no tip", here, tips("pr"), pullRequest("pr", 1, "", "alice"), false, true},
		{"another repository", there, tips("pr"), tip, false, true},
		{"another event", here, tips("x"), tip, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var pd refs.Pending
			n := pd.Begin(noon, tc.of, at("a"), tc.tips)
			pd.Finish(noon, n, tc.tips)
			found, gone := pd.Come(tc.pr)
			if tc.found != slices.Equal(found, []refs.Found{{Upload: n, Of: tc.of}}) || !tc.found && len(found) > 0 {
				t.Errorf("found %v", found)
			}
			if tc.gone != slices.Equal(gone, []uint64{n}) || !tc.gone && len(gone) > 0 {
				t.Errorf("gone %v", gone)
			}
			if held := pd.At(tc.of, id("pr")); held != (refs.PendingTip{}) {
				t.Errorf("its name is held: %+v", held)
			}
		})
	}
}

// Of what a push brought the rest goes on waiting, with what was not to wait left out.
func TestHoldInPart(t *testing.T) {
	var pd refs.Pending
	here := repo("alice", "d")
	n := pd.Begin(noon, here, at("a"), tips("x", "y"))
	pd.Resize(n, 77)
	pd.Finish(noon, n, tips("y"))
	if pd.Tips() != 1 || pd.At(here, id("x")) != (refs.PendingTip{}) || !pd.At(here, id("y")).Complete {
		t.Errorf("%d tips, x %+v, y %+v", pd.Tips(), pd.At(here, id("x")), pd.At(here, id("y")))
	}
	pd.Finish(noon, n, nil)
	if pd.Tips() != 0 || pd.Bytes() != 0 || pd.Next() != 0 {
		t.Errorf("%d tips and %d bytes are left", pd.Tips(), pd.Bytes())
	}
	pd.Finish(noon, 99, tips("z"))
	pd.Drop(99)
	if pd.Tips() != 0 {
		t.Error("an upload that never was waits")
	}
}

// At its end a push is judged again, and finds its own uploads counted, and those of others that came in between.
func TestJudgedAgainWithItsOwnUploads(t *testing.T) {
	var pd refs.Pending
	here := repo("alice", "d")
	fill(&pd, noon, refs.MaxRepositoryTips-2, here, "b")
	in := standing(refs.Projection{}, members("alice"))
	in.Pending = &pd
	p := push(pending("x") + ":>1 " + pending("y") + ":>2")
	p.From = at("a")
	v := refs.Judge(in, p)
	wantVerdict(t, v, "ok ok", "")
	p.Upload = pd.Begin(noon, here, at("a"), v.Uploads)
	again := refs.Judge(in, p)
	wantVerdict(t, again, "ok ok", "")
	if len(again.Uploads) != 2 {
		t.Errorf("uploads %v", again.Uploads)
	}
	second := p
	second.Upload = 0
	wantVerdict(t, refs.Judge(in, second), "pending_repository pending_repository", "")
	pd.Finish(noon, p.Upload, v.Uploads)
	if third := refs.Judge(in, second); third.Refused() || third.Changes() {
		t.Errorf("the same once it is there: %+v", third)
	}
}

// Two push the same commit for the same event at once: both may, as either may fail.
func TestTheSameTipTwiceUnderWay(t *testing.T) {
	var pd refs.Pending
	here := repo("alice", "d")
	in := standing(refs.Projection{}, members("alice"))
	in.Pending = &pd
	p := push(pending("x") + ":>1")
	a := pd.Begin(noon, here, at("a"), refs.Judge(in, p).Uploads)
	v := refs.Judge(in, p)
	if len(v.Uploads) != 1 {
		t.Fatalf("the second: %+v", v)
	}
	b := pd.Begin(noon, here, at("b"), v.Uploads)
	pd.Drop(a)
	if held := pd.At(here, id("x")); held != (refs.PendingTip{ID: oid("1")}) {
		t.Errorf("after the first failed: %+v", held)
	}
	pd.Finish(noon, b, v.Uploads)
	if held := pd.At(here, id("x")); !held.Complete {
		t.Errorf("after the second: %+v", held)
	}
}

// What is counted is what is there, whatever happens in whatever order.
func TestPendingLikeANaiveModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var pd refs.Pending
		type naiveUpload struct {
			of    nip34.Address
			tips  []refs.Tip
			bytes int64
			until int64
		}
		model := map[uint64]*naiveUpload{}
		now := int64(noon)
		any := func() uint64 { return uint64(r.IntN(20)) }
		for range 60 {
			now += int64(r.IntN(600))
			switch n := any(); r.IntN(6) {
			case 0, 1:
				u := &naiveUpload{of: repo([]string{"alice", "bob"}[r.IntN(2)], "d"), tips: tips(fmt.Sprint(r.IntN(5)), fmt.Sprint(5+r.IntN(5)))}
				model[pd.Begin(now, u.of, at(fmt.Sprint(r.IntN(2))), u.tips)] = u
			case 2:
				size := int64(r.IntN(1000))
				pd.Resize(n, size)
				if u := model[n]; u != nil {
					u.bytes = size
				}
			case 3:
				if u := model[n]; u != nil {
					u.tips = u.tips[:r.IntN(len(u.tips)+1)]
					pd.Finish(now, n, u.tips)
					if u.until = now + 1800; len(u.tips) == 0 {
						delete(model, n)
					}
				}
			case 4:
				name := fmt.Sprint(r.IntN(10))
				found, gone := pd.Come(pullRequest(name, 1, "tip of "+name, "alice"))
				var wantFound []refs.Found
				var wantGone []uint64
				for n := range uint64(100) {
					u := model[n]
					if u == nil || u.until == 0 || !slices.Contains(u.tips, tips(name)[0]) {
						continue
					}
					if u.of == repo("alice", "d") {
						wantFound = append(wantFound, refs.Found{Upload: n, Of: u.of})
					}
					u.tips = slices.DeleteFunc(slices.Clone(u.tips), func(t refs.Tip) bool { return t.Event == id(name) })
					if len(u.tips) == 0 {
						wantGone = append(wantGone, n)
						delete(model, n)
					}
				}
				if !slices.Equal(found, wantFound) || !slices.Equal(gone, wantGone) {
					t.Fatalf("seed %d: found %v, want %v; gone %v, want %v", seed, found, wantFound, gone, wantGone)
				}
			case 5:
				var want []uint64
				for n := range uint64(100) {
					if u := model[n]; u != nil && u.until != 0 && u.until <= now {
						want = append(want, n)
						delete(model, n)
					}
				}
				if gone := pd.Expire(now); !slices.Equal(gone, want) {
					t.Fatalf("seed %d: gone %v, want %v", seed, gone, want)
				}
			}
			var count int
			var bytes, next int64
			for _, u := range model {
				count += len(u.tips)
				bytes += u.bytes
				if u.until != 0 && (next == 0 || u.until < next) {
					next = u.until
				}
			}
			if pd.Tips() != count || pd.Bytes() != bytes || pd.Next() != next {
				t.Fatalf("seed %d: %d tips, %d bytes, next %d; want %d, %d, %d", seed, pd.Tips(), pd.Bytes(), pd.Next(), count, bytes, next)
			}
		}
	}
}

// What is over leaves nothing behind.
func TestPendingForgets(t *testing.T) {
	var pd refs.Pending
	for i := range 1000 {
		pd.Drop(pd.Begin(noon+int64(i)*60, repo("alice", fmt.Sprint(i)), at(fmt.Sprint(i)), tips(fmt.Sprint(i))))
	}
	if n := refs.Remembered(&pd); n > 200 {
		t.Errorf("%d things are remembered", n)
	}
}

func TestNoPending(t *testing.T) {
	var pd *refs.Pending
	pd.Drop(1)
	found, gone := pd.Come(pullRequest("pr", 1, "1", "alice"))
	if pd.At(repo("alice", "d"), id("x")) != (refs.PendingTip{}) || len(found)+len(gone)+len(pd.Expire(noon)) > 0 || pd.Next() != 0 || pd.Tips() != 0 || pd.Bytes() != 0 {
		t.Error("something waits")
	}
}
