package cluster

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graspd/graspd/internal/test/testkit"
)

var many = flag.Int("repositories", 0, "how many repositories are in a data directory that is put into the bucket before three nodes share it")

// madeBefore has a graspd without a bucket take as many repositories as -repositories says, with a commit each, and puts its data directory into
// the bucket.
func madeBefore(t *testing.T, s *server, prefix string) (all []*repository) {
	if *many == 0 {
		return nil
	}
	begun := time.Now()
	m := newMachine(t, "")
	for i := range *many {
		r := newRepository(t, fmt.Sprint("before-", i))
		r.owner = testkit.Key(1000 + i/20) // who begins hundreds in a day is asked to wait
		all = append(all, r)
	}
	each(all, func(r *repository) {
		if publishes(t.Context(), m, r.announcement()) {
			for try := 0; r.said == "" && try < 100; try++ { // a busy server has people push again
				r.push(t.Context(), m)
			}
		}
		if r.said == "" {
			t.Errorf("%s is not pushed", r.d)
		}
	})
	m.stop()
	if t.Failed() {
		t.FailNow()
	}
	made := time.Since(begun)
	begun = time.Now()
	t.Log(command(t, "bucket", "init", "--from", m.dir, "--bucket", bucketURL(prefix, s.address)))
	t.Logf("%d repositories were pushed in %v, and their directory put into the bucket in %v", *many, made.Round(time.Second), time.Since(begun).Round(time.Millisecond))
	return all
}

// each does something for all repositories, some at a time.
func each(all []*repository, do func(*repository)) {
	var some errgroup.Group
	some.SetLimit(4)
	for _, r := range all {
		some.Go(func() error { do(r); return nil })
	}
	_ = some.Wait() // no error is returned
}

// allThere requires that each node has what git said ok to of repositories: that it shows the commit, and of those that were pushed to while it came to
// harm, and of some others, that a clone has it.
func (p *people) allThere(t *testing.T, all []*repository) {
	var mu sync.Mutex
	lacking := map[string]int{}
	whole := 0
	for _, m := range p.machines {
		each(all, func(r *repository) {
			ctx, end := context.WithTimeout(t.Context(), patient)
			defer end()
			tip, err := git(ctx, r.dir, "ls-remote", r.url(m), "refs/heads/main")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil || len(tip) < len(r.said):
				lacking[p.letter(m)]++
				t.Logf("%s of %s: %v %s", r.d, p.letter(m), err, tip)
			case r.made == 1 && tip[:len(r.said)] != r.said:
				lacking[p.letter(m)]++
				t.Logf("%s of %s: %s, not %s", r.d, p.letter(m), tip, r.said)
			}
		})
		for i, r := range all {
			if r.made > 1 || i%50 == 0 {
				r.isThere(t, m)
				whole++
			}
		}
	}
	if len(lacking) > 0 {
		t.Errorf("nodes lack repositories: %v", lacking)
	}
	if len(all) > 0 {
		t.Logf("each node shows the commits of all %d repositories; %d clones of them are whole", len(all), whole)
	}
}
