package gitplan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/grasp"
	"github.com/graspd/graspd/internal/health"
)

// What is remembered of hosts grows with the names that strangers make up, one fetch for each, and so it is bounded.

// stranger is a server that was not asked.
var stranger host

// known is what is known about a server, to be read alone.
func (p *Plan) known(server string) *host {
	if h := p.hosts[server]; h != nil {
		return h
	}
	return &stranger
}

// host is what is known about a server that is about to be asked.
func (p *Plan) host(now health.Now, s grasp.Source) *host {
	server := s.Server()
	h := p.hosts[server]
	if h == nil {
		displace(p.hosts, p.cfg.Hosts, func(h *host) (worth, bool) { return h.worth(now), h.running == 0 })
		h = &host{name: s.Host()}
		p.hosts[server] = h
	}
	return h
}

// allowance is that of a host, whatever the port, that is about to be asked.
func (p *Plan) allowance(now health.Now, name string) *allowance {
	a := p.allowances[name]
	if a == nil {
		displace(p.allowances, p.cfg.Hosts, func(a *allowance) (worth, bool) { return worth{far: a.owed(now)}, true })
		a = &allowance{}
		p.allowances[name] = a
	}
	return a
}

// worth is what is lost with what is remembered: by the sort of it, and within a sort by how far it reaches.
type worth struct {
	sort int
	far  time.Duration
}

// worth of a host is the least where only is known that it has answered, more while it rests, and the most where it has asked for less.
// Within each it is the less the longer ago the host was asked.
func (h *host) worth(now health.Now) worth {
	w := worth{0, h.last.Mono}
	switch {
	case h.pace > 0, h.until > now.Mono && !h.failing:
		w.sort = 2
	case h.until > now.Mono:
		w.sort = 1
	}
	return w
}

// displace makes room in what is full: a tenth goes at once, of which the least is lost.
func displace[T any](of map[string]T, most int, look func(T) (w worth, goes bool)) {
	if len(of) < most {
		return
	}
	type old struct {
		name string
		worth
	}
	var list []old
	for name, x := range of {
		if w, goes := look(x); goes {
			list = append(list, old{name, w})
		}
	}
	slices.SortFunc(list, func(a, b old) int {
		return cmp.Or(cmp.Compare(a.sort, b.sort), cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	for _, x := range list[:min(len(list), len(of)-most+1+most/10)] {
		delete(of, x.name)
	}
}

// hostsKept is how many servers are known before those are looked for that can be forgotten.
const hostsKept = 1000

// forgetEvery is between two looks for those.
const forgetEvery = time.Minute

func (p *Plan) forget(now health.Now) {
	if max(len(p.hosts), len(p.allowances)) < hostsKept || p.forgot != 0 && now.Mono-p.forgot < forgetEvery {
		return
	}
	p.forgot = now.Mono
	maps.DeleteFunc(p.hosts, func(_ string, h *host) bool { return h.forget(now) })
	maps.DeleteFunc(p.allowances, func(_ string, a *allowance) bool { return a.full(now) })
}

// What is done where hosts are there again.
const (
	returnPause  = time.Minute // between two times that one is taken for one that has returned
	returnsEvery = time.Second // between two looks for all that is affected
	returnsKept  = 1000        // hosts that wait for such a look; beyond them others are asked when their time comes
)

// returns ends the rests of hosts that are there again, and brings the turns at them forward.
func (p *Plan) returns(now health.Now) {
	if len(p.back) == 0 || now.Mono < p.lookBack {
		return
	}
	until := map[string]time.Duration{}
	for server, h := range p.hosts {
		if p.back[h.name] && h.returns(now) {
			until[server] = h.until
		}
	}
	clear(p.back)
	p.lookBack = now.Mono + returnsEvery
	if len(until) == 0 {
		return
	}
	for _, r := range p.repos {
		if r.returns(until) {
			p.later.put(r)
		}
	}
}
