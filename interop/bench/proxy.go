package main

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy is the address under which repositories name the relay that graspd fills from. It carries bytes to
// whatever relay stands behind it, counts them, and can be cut.
type proxy struct {
	l     net.Listener
	bytes atomic.Int64 // both ways
	dials chan time.Time

	mu     sync.Mutex // guards the rest
	target string     // host:port; "": nothing is carried
	open   map[net.Conn]struct{}
}

func newProxy() (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{l: l, dials: make(chan time.Time, 1), open: map[net.Conn]struct{}{}}
	go p.accept()
	return p, nil
}

func (p *proxy) url() string { return "ws://" + p.l.Addr().String() }

func (p *proxy) close() error { p.lead(""); return p.l.Close() }

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

func (p *proxy) accept() {
	for {
		c, err := p.l.Accept()
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
