package front

// PoolConfig says how all clients share an amount of something.
type PoolConfig struct {
	Name    string // what clients share, in the plural
	Total   int
	Address int // how much one address may have
	Little  int // an eighth of Total is for those who have no more than this
}

// Pool is an amount of something that all clients share. visitors.mu guards it.
type Pool struct {
	PoolConfig
	all     *visitors
	used    int
	holders map[*usage]struct{} // addresses of IPv4 and networks of IPv6 that have something of the pool
}

// NewPool adds a pool. Call it before the first request.
func (f *Front) NewPool(c PoolConfig) *Pool { return f.visitors.newPool(c) }

func (v *visitors) newPool(c PoolConfig) *Pool {
	c.Address = min(c.Address, c.Total)
	p := &Pool{PoolConfig: c, all: v, holders: map[*usage]struct{}{}}
	v.pools = append(v.pools, p)
	return p
}

// network returns how much the addresses of one network may have together.
func (p *Pool) network() int { return min(networkFactor*p.Address, max(p.Address, p.Total/2)) }

// Refusal says why a pool grants nothing.
type Refusal int

// The refusals.
const (
	Granted     Refusal = iota // it is granted
	OverAddress                // the visitor's address or network has as much as it may have
	OverAll                    // there is not enough for all
)

// refusal says why the visitor may not have n more; Granted where they may. The caller holds mu.
func (p *Pool) refusal(one *Visitor, n int) Refusal {
	keep := 0
	if one != nil {
		if one.own.sizeOf(p)+n > p.Address || one.network != nil && one.network.sizeOf(p)+n > p.network() {
			return OverAddress
		}
		if one.top().sizeOf(p)+n > p.Little {
			keep = p.Total / 8
		}
	}
	if p.used+n > p.Total-keep {
		return OverAll
	}
	return Granted
}

// hold counts n as taken by the visitor, or as given back where n is negative. The caller holds mu.
func (p *Pool) hold(one *Visitor, n int) {
	p.used += n
	if one == nil {
		return
	}
	one.own.hold(p, n)
	if one.network != nil {
		one.network.hold(p, n)
	}
	if top := one.top(); top.sizeOf(p) == 0 {
		delete(p.holders, top)
	} else {
		p.holders[top] = struct{}{}
	}
}

// victim returns the oldest revocable grant of whoever has the most; nil where nobody has more than the visitor would have. The caller
// holds mu.
func (p *Pool) victim(one *Visitor, n int) *Grant {
	var most *usage
	for s := range p.holders {
		if h := s.holdings[p]; h.grants.Len() > 0 && (most == nil || h.size > most.holdings[p].size) {
			most = s
		}
	}
	have := n
	if one != nil {
		have += one.top().sizeOf(p)
	}
	if most == nil || most.holdings[p].size <= have {
		return nil
	}
	return most.holdings[p].grants.Front().Value.(*Grant)
}
