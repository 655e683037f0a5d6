package githttp

import (
	"sync"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// mostLed bounds the objects of which it is remembered whether refs lead there. For the others git has to find out again.
const mostLed = 1 << 14

// leads remembers of objects that clients asked for by id whether refs lead there.
type leads struct {
	mu   sync.Mutex
	kept *lru.Cache[lead, bool]
}

// lead is an object of a repository while its refs stay as they are.
type lead struct {
	dir        string
	generation uint64
	id         gitwire.ObjectID
}

func newLeads() *leads { return &leads{kept: lru.New[lead, bool](mostLed)} }

// known returns those of ids of which nothing is remembered, and those to which no ref leads.
func (l *leads) known(r *Repository, ids []gitwire.ObjectID) (unknown, unreached []gitwire.ObjectID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if led, ok := l.kept.Get(lead{r.Dir, r.Generation, id}); !ok {
			unknown = append(unknown, id)
		} else if !led {
			unreached = append(unreached, id)
		}
	}
	return unknown, unreached
}

// note remembers git's answer.
func (l *leads) note(r *Repository, asked, unreached []gitwire.ObjectID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range asked {
		l.kept.Put(lead{r.Dir, r.Generation, id}, true, 1)
	}
	for _, id := range unreached {
		l.kept.Put(lead{r.Dir, r.Generation, id}, false, 1)
	}
}

// led fails with a *gitwire.RequestError where the client wants a commit or a tag by id to which no ref leads: whoever signed for it may have
// taken it back. Below version 2 upload-pack refuses that by itself. A tree or a blob is given, as only the whole history tells what leads there.
func (x *exchange) led(f *gitwire.Fetch) error {
	if f.Version < 2 {
		return nil
	}
	unknown, unreached := x.leads.known(&x.repo, x.notShown(f.Wants))
	if len(unreached) == 0 && len(unknown) > 0 {
		ctx := x.req.Context()
		if err := x.host.AwaitFiles(ctx, x.of, x.repo.Generation); err != nil {
			return err
		}
		var err error
		if unreached, err = x.packs.Unreached(ctx, x.repo.Dir, unknown, x.party()); err != nil {
			return err
		}
		x.leads.note(&x.repo, unknown, unreached)
	}
	if len(unreached) > 0 {
		return gitwire.Unreached(unreached[0])
	}
	return nil
}
