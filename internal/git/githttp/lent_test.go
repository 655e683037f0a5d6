package githttp

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestThePackOfAPushHasAReaderOfItsOwn: what might still read it when the request is over reads nothing of another one. Requests for
// refs give theirs back.
func TestThePackOfAPushHasAReaderOfItsOwn(t *testing.T) {
	for service, lent := range map[gitwire.Service]bool{gitwire.ReceivePack: false, gitwire.UploadPack: true} {
		x := &exchange{service: service}
		r := x.reader(strings.NewReader("0032"))
		if b, err := r.Peek(4); err != nil || string(b) != "0032" {
			t.Errorf("%v: %q, %v", service, b, err)
		}
		if back := x.lent != nil; back != lent {
			t.Errorf("%v: is given back: %v", service, back)
		}
	}
}
