package cluster

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands before a server and spoils one request in ten, each in the next way.
type proxy struct {
	to       string      // host and port
	away     atomic.Bool // nothing comes through
	plain    atomic.Bool // nothing is spoiled
	requests atomic.Int64
	spoiled  [5]atomic.Int64 // by way
	late     sync.WaitGroup
}

// The ways to spoil a request.
const (
	lost     = iota // it does not come
	silenced        // it is carried out, and its answer is lost
	delayed         // it comes later, and so does its answer
	cut             // its answer ends in the middle
	repeated        // it is answered, and comes once more, late
)

func newProxy(t *testing.T, to string) (*proxy, string) {
	t.Helper()
	p := &proxy{to: to}
	s := httptest.NewServer(p)
	t.Cleanup(func() { s.Close(); p.late.Wait() })
	return p, s.Listener.Addr().String()
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	n, way := p.requests.Add(1), -1
	if p.away.Load() {
		panic(http.ErrAbortHandler)
	}
	if n%10 == 0 && !p.plain.Load() {
		way = int(n/10) % len(p.spoiled)
		p.spoiled[way].Add(1)
	}
	if way == lost {
		panic(http.ErrAbortHandler)
	}
	if way == delayed {
		time.Sleep(300 * time.Millisecond)
	}
	answer, content, err := p.send(r.Context(), r, body)
	if err != nil || way == silenced || p.away.Load() {
		panic(http.ErrAbortHandler)
	}
	if way == repeated {
		p.again(r, body)
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	if way == cut {
		w.Write(content[:len(content)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(content)
}

// again sends a request once more, later.
func (p *proxy) again(r *http.Request, body []byte) {
	late := r.Clone(context.WithoutCancel(r.Context()))
	p.late.Go(func() {
		time.Sleep(200 * time.Millisecond)
		p.send(late.Context(), late, body)
	})
}

func (p *proxy) send(ctx context.Context, r *http.Request, body []byte) (*http.Response, []byte, error) {
	u := *r.URL
	u.Scheme, u.Host = "http", p.to
	q, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	q.Header, q.Host = r.Header.Clone(), r.Host // which is signed
	answer, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer, content, err
}
