package gitrepo

import "sync"

// maxDemand bounds the repositories whose packs are counted.
const maxDemand = 10_000

// cloneCounts counts, for each repository, the packs that were made for clones since the last pack came in.
type cloneCounts struct {
	mu sync.Mutex // guards the map
	m  map[ID]int
}

func (d *cloneCounts) count(repo ID) { d.add(repo, 1) }

// rest notes that combining a repository's packs once more is of no use until something comes in.
func (d *cloneCounts) rest(repo ID) {
	d.forget(repo)
	d.add(repo, -1<<30)
}

func (d *cloneCounts) add(repo ID, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil || len(d.m) >= maxDemand {
		d.m = map[ID]int{} // who is asked for often is counted anew
	}
	d.m[repo] += n
}

func (d *cloneCounts) of(repo ID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m[repo]
}

func (d *cloneCounts) forget(repo ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.m, repo)
}
