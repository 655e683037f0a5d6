package refs_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
)

// Who has a whole network has four times as much as an address, however many of its addresses they use.
func TestUploadsOfANetwork(t *testing.T) {
	const tips = refs.MaxNetworkTips
	push := func(pd *refs.Pending, now int64, network string, i int) uint64 {
		return pd.Begin(now, repo("bob", fmt.Sprint(network, i)), refs.From{Address: fmt.Sprint(network, i/8), Network: network}, list("x", i))
	}
	for _, tc := range []struct {
		name string
		do   func(pd *refs.Pending)
		want refs.Cause
	}{
		{"one less", func(pd *refs.Pending) { times(tips-1, func(i int) { push(pd, noon, "net", i) }) }, refs.None},
		{"as many", func(pd *refs.Pending) { times(tips, func(i int) { push(pd, noon, "net", i) }) }, refs.PendingNetwork},
		{"as many that failed", func(pd *refs.Pending) { times(tips, func(i int) { pd.Drop(push(pd, noon, "net", i)) }) }, refs.PendingNetwork},
		{"of another network", func(pd *refs.Pending) { times(tips, func(i int) { push(pd, noon, "other", i) }) }, refs.None},
		{"an hour ago", func(pd *refs.Pending) { times(tips, func(i int) { push(pd, noon-3600, "net", i) }) }, refs.None},
		{"bytes", func(pd *refs.Pending) {
			times(4, func(i int) { pd.Resize(push(pd, noon, "net", 8*i), refs.MaxAddressBytes) })
		}, refs.PendingNetwork},
		{"less bytes", func(pd *refs.Pending) {
			times(4, func(i int) { pd.Resize(push(pd, noon, "net", 8*i), refs.MaxAddressBytes-1) })
		}, refs.None},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pd := &refs.Pending{}
			tc.do(pd)
			in := standing(refs.Projection{}, members("alice"))
			in.Pending, in.Now = pd, noon
			p := pushFrom(refs.From{Address: "fresh", Network: "net"})
			if got := refs.Judge(in, p).Results[0].Cause; got != tc.want {
				t.Errorf("%v, not %v", got, tc.want)
			}
		})
	}
	pd := &refs.Pending{}
	times(4, func(i int) {
		if cause := pd.Resize(push(pd, noon, "net", 8*i), refs.MaxAddressBytes); cause != refs.None {
			t.Errorf("the upload of address %d: %v", i, cause)
		}
	})
	n := push(pd, noon, "net", 100)
	if cause := pd.Resize(n, 1); cause != refs.PendingNetwork {
		t.Errorf("a byte too much: %v", cause)
	}
	pd.Drop(n)
	if cause := pd.Resize(push(pd, noon, "other", 0), 1); cause != refs.None {
		t.Errorf("of another network: %v", cause)
	}
}

func pushFrom(f refs.From) refs.Push {
	p := push(pending("one more") + ":>1")
	p.From = f
	return p
}

func list(name string, i int) []refs.Tip { return tips(fmt.Sprint(name, i)) }

func times(n int, do func(int)) {
	for i := range n {
		do(i)
	}
}
