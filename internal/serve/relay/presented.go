package relay

import (
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

// presented holds what the relay says of itself: to programs (NIP-11), and to people.
type presented struct {
	info     []byte
	operator []byte // the answer to the question who has the host's own name; see operatorNamed
	page     *page
}

func present(info nip11.Document, about string, minPoW int, look web.Look, l Limits, rates front.Rates, s grasp.Service) (*presented, error) {
	doc := l.document(info)
	doc.Limitation.MinPoWDifficulty = minPoW
	text, err := doc.JSON()
	if err != nil {
		return nil, err
	}
	page, err := newPage(doc, about, look, rates, s)
	if err != nil {
		return nil, err
	}
	return &presented{text, operatorNamed(info), page}, nil
}

// Present prepares what the relay says of itself; the arguments are as the fields of Config with these names. put puts it into effect.
// Present fails, and changes nothing, where it cannot make the information document or the page. Any goroutine may call both.
func (r *Relay) Present(info nip11.Document, about string, minPoW int) (put func(), err error) {
	as, err := present(info, about, minPoW, r.look, r.limits, r.front.Rates(), r.service)
	if err != nil {
		return nil, err
	}
	return func() { r.presented.Store(as) }, nil
}
