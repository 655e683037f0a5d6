package githttp

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/graspd/graspd/internal/base/lru"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// mostLed bounds the objects of which it is remembered whether refs lead there. For the others git has to find out again.
const mostLed = 1 << 14

// leads remembers of objects that clients asked for by id whether refs lead there.
type leads struct {
	mu     sync.Mutex // guards the fields below
	kept   *lru.Cache[lead, bool]
	asking map[question]chan struct{} // what git is asked, each closed at the end
}

// lead is an object of a repository while its refs stay as they are.
type lead struct {
	dir        string
	generation uint64
	id         gitwire.ObjectID
}

// question names objects of a repository while its refs stay as they are.
type question struct {
	dir        string
	generation uint64
	ids        [sha256.Size]byte
}

func newLeads() *leads {
	return &leads{kept: lru.New[lead, bool](mostLed), asking: map[question]chan struct{}{}}
}

// ledTo is what is known of objects that somebody asks for.
type ledTo struct {
	unknown   []gitwire.ObjectID // objects about which nothing is remembered
	unreached []gitwire.ObjectID // objects to which no ref leads
	other     <-chan struct{}    // closes when somebody else who asks git about unknown has an answer or gives up; nil where nobody asks
	done      func()             // where nobody asked and something is unknown: others wait until it is called
}

// known tells what is remembered of ids. Where something is unknown and nobody asks git the same, others find that the caller does.
func (l *leads) known(r *Repository, ids []gitwire.ObjectID) (k ledTo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.New()
	for _, id := range ids {
		if led, ok := l.kept.Get(lead{r.Dir, r.Generation, id}); !ok {
			k.unknown = append(k.unknown, id)
			hash.Write(id.AppendRaw(nil))
		} else if !led {
			k.unreached = append(k.unreached, id)
		}
	}
	if len(k.unreached) > 0 || len(k.unknown) == 0 {
		return k
	}
	q := question{r.Dir, r.Generation, [sha256.Size]byte(hash.Sum(nil))}
	if other := l.asking[q]; other != nil {
		k.other = other
		return k
	}
	mine := make(chan struct{})
	l.asking[q] = mine
	k.done = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.asking, q)
		close(mine)
	}
	return k
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
	ids := x.notShown(f.Wants)
	for tries := 0; ; tries++ {
		k := x.leads.known(&x.repo, ids)
		switch {
		case len(k.unreached) > 0:
			return gitwire.Unreached(k.unreached[0])
		case len(k.unknown) == 0:
			return nil
		case k.other == nil:
			defer k.done()
			return x.findLed(k.unknown)
		case tries == mostWorkers: // others have found out nothing often enough
			return x.findLed(k.unknown)
		}
		select {
		case <-k.other:
		case <-x.req.Context().Done():
			return context.Cause(x.req.Context())
		}
	}
}

// findLed has git find out whether refs lead to objects, and fails like led.
func (x *exchange) findLed(ids []gitwire.ObjectID) error {
	ctx := x.req.Context()
	if err := x.host.AwaitFiles(ctx, x.of, x.repo.Generation); err != nil {
		return err
	}
	unreached, err := x.packs.Unreached(ctx, x.repo.Dir, ids, x.party())
	if err != nil {
		return err
	}
	x.leads.note(&x.repo, ids, unreached)
	if len(unreached) > 0 {
		return gitwire.Unreached(unreached[0])
	}
	return nil
}
