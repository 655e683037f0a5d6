package gitrepo_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestNobodyWaitsForATransfer: while a pack comes in slowly others push to the same repository, its refs are written, and it is fetched from.
func TestNobodyWaitsForATransfer(t *testing.T) {
	d, c, _, tip := served(t)
	next := c.commit("main", 1, tip)
	pack := c.packOf(c.all("main", "^"+tip.String())...)
	slow, sender := io.Pipe()
	came := make(chan error, 1)
	q := begin(t, d, some(1))
	go func() {
		_, err := q.Receive(t.Context(), slow, gitrepo.Receiving{})
		came <- err
	}()
	if _, err := sender.Write(pack[:len(pack)/2]); err != nil { // git reads it
		t.Fatal(err)
	}
	if d.Locked(some(1)) {
		t.Error("the repository is locked while a pack comes in")
	}
	other := c.commit("other", 1, tip)
	push(t, d, some(1), c.pack("other", "^main~1"), gitrepo.Proving{Tips: ids{other}})
	if err := d.Project(some(1), 0, refsOf("refs/heads/other", "refs/heads/main", tip, "refs/heads/other", other)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.Pack(t.Context(), some(1), &gitwire.Fetch{Wants: ids{other}}, "somebody", &out); err != nil || out.Len() == 0 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	if _, err := sender.Write(pack[len(pack)/2:]); err != nil {
		t.Fatal(err)
	}
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	_, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{next}})
	if err == nil {
		err = d.Admit(q, some(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	wantMissing(t, d, some(1), ids{next, other, tip}, 0)
}
