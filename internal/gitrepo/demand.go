package gitrepo

import "sync"

// maxDemand bounds the repositories whose packs are counted.
const maxDemand = 10_000

// demand is how many packs were made of repositories since something came in.
type demand struct {
	mu sync.Mutex // guards the map
	m  map[ID]int
}

func (d *demand) count(repo ID) { d.add(repo, 1) }

// rest says that packs are as good as they get until something comes in.
func (d *demand) rest(repo ID) {
	d.forget(repo)
	d.add(repo, -1<<30)
}

func (d *demand) add(repo ID, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil || len(d.m) >= maxDemand {
		d.m = map[ID]int{} // who is asked for often is counted anew
	}
	d.m[repo] += n
}

func (d *demand) of(repo ID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m[repo]
}

func (d *demand) forget(repo ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.m, repo)
}
