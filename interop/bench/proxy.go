package main

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy is the address under which repositories name the relay that graspd fills from. A relay that is read as a whole stands there itself. Where
// connections are to be cut, the proxy does: it carries bytes to whatever relay stands behind it, and counts them.
type proxy struct {
	addr  string       // host:port
	bytes atomic.Int64 // both ways
	dials chan time.Time
	l     net.Listener // nil while a relay stands at the address

	mu     sync.Mutex // guards the rest
	target string     // host:port; "": nothing is carried
	open   map[net.Conn]struct{}
}

// newProxy takes an address, and holds it until it is left to a relay.
func newProxy() (*proxy, error) {
	p := &proxy{addr: "127.0.0.1:0", dials: make(chan time.Time, 1), open: map[net.Conn]struct{}{}}
	if err := p.stand(); err != nil {
		return nil, err
	}
	p.addr = p.l.Addr().String()
	return p, nil
}

func (p *proxy) url() string { return "ws://" + p.addr }

// stand takes the address back from a relay that has left it.
func (p *proxy) stand() (err error) {
	if p.l != nil {
		return nil
	}
	if p.l, err = net.Listen("tcp", p.addr); err == nil {
		go p.accept(p.l)
	}
	return err
}

// leave leaves the address to a relay.
func (p *proxy) leave() error {
	p.lead("")
	l := p.l
	if p.l = nil; l == nil {
		return nil
	}
	return l.Close()
}

// lead cuts all connections and has the next ones go to the target.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.open {
		_ = c.Close() // its copying ends with that
	}
	select {
	case <-p.dials:
	default:
	}
}

func (p *proxy) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		at := time.Now()
		there, err := p.dial(c)
		if err != nil || there == nil {
			_ = c.Close()
			continue
		}
		select {
		case p.dials <- at:
		default:
		}
		go p.carry(c, there)
		go p.carry(there, c)
	}
}

// dial connects c with the target; nil without one.
func (p *proxy) dial(c net.Conn) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target == "" {
		return nil, nil
	}
	there, err := net.Dial("tcp", p.target)
	if err == nil {
		p.open[c], p.open[there] = struct{}{}, struct{}{}
	}
	return there, err
}

// carry copies until one side ends, and then ends both.
func (p *proxy) carry(from, to net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		p.bytes.Add(int64(n))
		if n > 0 {
			if _, w := to.Write(b[:n]); w != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = from.Close(), to.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, from)
	delete(p.open, to)
}
