package gitplan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Strangers can make up names of hosts, and each costs one fetch to find out. So the plan bounds how many hosts it remembers.

// stranger is a server that the plan never asked. Nobody writes to it.
var stranger host

// known returns what the plan knows about a server. The caller only reads it.
func (p *Plan) known(server string) *host {
	if h := p.hosts[server]; h != nil {
		return h
	}
	return &stranger
}

// host returns what the plan knows about a server that it is about to ask. From now on the plan remembers that server.
func (p *Plan) host(now backoff.Now, s grasp.Source) *host {
	server := s.Server()
	h := p.hosts[server]
	if h == nil {
		displace(p.hosts, p.cfg.Hosts, func(h *host) (worth, bool) { return h.worth(now), h.running == 0 })
		h = &host{name: s.Host()}
		p.hosts[server] = h
	}
	return h
}

// allowance returns the allowance of a host that the plan is about to ask, all its ports together.
func (p *Plan) allowance(now backoff.Now, name string) *allowance {
	a := p.allowances[name]
	if a == nil {
		displace(p.allowances, p.cfg.Hosts, func(a *allowance) (worth, bool) { return worth{far: a.owed(now)}, true })
		a = &allowance{}
		p.allowances[name] = a
	}
	return a
}

// worth is what the plan loses when it forgets a host: first by the sort of memory, then by how long that memory still counts.
type worth struct {
	sort int
	far  time.Duration
}

// worth returns the worth of a host: least where the host has only answered, more while it waits after a failure, and most where it has asked
// for fewer requests. Within each sort it is less the longer ago the plan has asked the host.
func (h *host) worth(now backoff.Now) worth {
	w := worth{0, h.last.Mono}
	switch {
	case h.pace > 0, h.until > now.Mono && !h.failing:
		w.sort = 2
	case h.until > now.Mono:
		w.sort = 1
	}
	return w
}

// displace makes room in a full map. It removes the tenth that is worth least at once, so that the search is rare.
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

// hostsKept is how many servers the plan knows before it looks for those that it can forget.
const hostsKept = 1000

// forgetEvery is the time between two looks for hosts to forget.
const forgetEvery = time.Minute

func (p *Plan) forget(now backoff.Now) {
	if max(len(p.hosts), len(p.allowances)) < hostsKept || p.forgot != 0 && now.Mono-p.forgot < forgetEvery {
		return
	}
	p.forgot = now.Mono
	maps.DeleteFunc(p.hosts, func(_ string, h *host) bool { return h.forget(now) })
	maps.DeleteFunc(p.allowances, func(_ string, a *allowance) bool { return a.full(now) })
}

// How the plan treats hosts that return.
const (
	returnPause  = time.Minute // between two returns of one host
	returnsEvery = time.Second // between two looks for the repositories of hosts that have returned
	returnsKept  = 1000        // hosts that wait for such a look; the plan asks those beyond when their waits end
)

// returns ends the waits of hosts that are there again, and brings the turns at them forward.
func (p *Plan) returns(now backoff.Now) {
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
