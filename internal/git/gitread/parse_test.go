package gitread

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestCommitted(t *testing.T) {
	const head, tail = "tree x\nparent y\nauthor a <a@b> 5 +0000\n", "encoding x\ngpgsig -----\n committer a <b> 7 +0000\n\ncommitter a <b> 8 +0000\n"
	for line, want := range map[string]int64{
		"committer a <a@b> 1700000000 +0100\n": 1700000000, "committer <> 0 +0000\n": 0, "committer a <b> > <c> 9 -0000\n": 9,
		"committer a <b>\n": -1, "committer a <b> x +0000\n": -1, "committer a <b> -5 +0000\n": -1, "committer a <b> 99999999999999999999 +0\n": -1,
		"committer a <b> 253402300800 +0\n": -1, "committer a <b> 253402300799 +0\n": 253402300799, "committer a <b> 6\n": 6, "": -1,
	} {
		got := int64(-1)
		if at := parseCommit(gitwire.ObjectID{}, []byte(head+line+tail)).Committer.When; !at.IsZero() {
			got = at.Unix()
		}
		if got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}
