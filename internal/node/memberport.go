package node

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/graspd/graspd/internal/events/election"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/serve/forward"
)

// What nodes that share a bucket ask each other. Each request has the secret of the nodes in a header.
const (
	logPath     = "/log"  // GET: the entries after a position, one frame after the other, and signs of life
	leadPath    = "/lead" // POST: the leader leaves, and the node is to lead once it has the log up to a position
	secretHead  = "Graspd-Cluster"
	termHead    = "Graspd-Term" // the term that the node knows that asks
	beatEvery   = 500 * time.Millisecond
	sendTimeout = 5 * time.Second // for a frame
	callTimeout = time.Second     // until a node leads that was asked to
)

// newClient returns what asks other nodes. It knows no proxy.
func newClient() *http.Client {
	d := net.Dialer{Timeout: election.HeardLast}
	return &http.Client{Transport: &http.Transport{DialContext: d.DialContext, ResponseHeaderTimeout: 2 * callTimeout, DisableCompression: true, DisableKeepAlives: true}}
}

// server answers other nodes.
func (m *Member) server() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+logPath, m.sendLog)
	mux.HandleFunc("POST "+leadPath, m.called)
	mux.HandleFunc("POST "+nodesPath, m.hearNode)
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHead)), []byte(m.secret)) != 1 {
			http.Error(w, "only nodes of the same bucket may ask", http.StatusForbidden)
			return
		}
		r.Header.Del(secretHead)
		if term, err := strconv.ParseUint(r.Header.Get(termHead), 10, 64); err == nil && m.leads() && term > m.store.LogPlace().Term {
			m.send(election.Later{})
			forward.NotYet(w, "another node leads: this one does not know of it yet")
			return
		}
		r.Header.Del(termHead)
		if forward.Is(r) {
			m.answers.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return &http.Server{Handler: known, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(m.logger.Handler(), slog.LevelDebug)}
}

// ask makes a request to another node. The caller closes the body of the answer.
func (m *Member) ask(ctx context.Context, method, at string, values url.Values) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, at+"?"+values.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	m.authorize(r.Header)
	answer, err := m.client.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200)) // it is for the log alone
		err = errors.Join(fmt.Errorf("%s: %s: %s", at, answer.Status, text), answer.Body.Close())
	}
	return answer, err
}

// authorize tells a node that another one asks, and which term that knows.
func (m *Member) authorize(h http.Header) {
	h.Set(secretHead, m.secret)
	h.Set(termHead, strconv.FormatUint(m.store.LogPlace().Term, 10))
}

// sendLog streams what this node, which leads, has written.
func (m *Member) sendLog(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	node := r.FormValue("node")
	switch {
	case err != nil || node == "":
		http.Error(w, "after and node are needed", http.StatusBadRequest)
		return
	case !m.leads():
		http.Error(w, "this node does not lead", http.StatusServiceUnavailable)
		return
	}
	defer m.send(election.FollowerLost{Node: node})
	s := stream{m: m, w: w, c: http.NewResponseController(w), after: commitlog.Position(after)}
	for {
		m.send(election.Follower{Node: node, Position: uint64(s.after)})
		moved, err := s.send()
		if err != nil {
			m.logger.Debug("a node that follows is gone", "follower", node, "error", err)
			return
		}
		t := time.NewTimer(beatEvery)
		select {
		case <-moved:
		case <-t.C:
		case <-r.Context().Done():
			return
		case <-m.over:
			return
		case <-m.gone:
			return
		}
		t.Stop()
	}
}

// stream is what one node that follows is sent.
type stream struct {
	m     *Member
	w     io.Writer
	c     *http.ResponseController
	after commitlog.Position // up to there it was sent
}

// Why a stream ends: its node is to read the bucket; or this one, which can write nothing, is to give way to one that can.
var (
	errBehind = errors.New("the node is too far behind")
	errAway   = errors.New("the bucket does not answer")
)

// send sends all entries that the node lacks and, behind them, a sign of life. The channel is closed when there are more.
func (s *stream) send() (<-chan struct{}, error) {
	if away := s.m.Objects.Stats().Since; !away.IsZero() && time.Since(away) >= election.Silence {
		return nil, errAway
	}
	for {
		at, moved := s.m.store.FollowPlace()
		f := commitlog.Frame{Term: at.Term, Head: commitlog.Position(at.Position)}
		if s.after < f.Head {
			x, ok := s.m.recent.at(s.after + 1)
			if !ok {
				return nil, errBehind
			}
			f.Entry = &x
		}
		if err := s.c.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
			return nil, err
		}
		if _, err := s.w.Write(f.Append(nil)); err != nil {
			return nil, err
		}
		if f.Entry != nil {
			s.after++
			continue
		}
		return moved, s.c.Flush()
	}
}

// called has this node lead, once it has the log up to a position, and answers whether it does.
func (m *Member) called(w http.ResponseWriter, r *http.Request) {
	position, err := strconv.ParseUint(r.FormValue("position"), 10, 64)
	if err != nil {
		http.Error(w, "position is needed", http.StatusBadRequest)
		return
	}
	m.send(election.Called{Position: position})
	t := time.NewTimer(callTimeout)
	defer t.Stop()
	select {
	case <-m.led:
	case <-t.C:
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	case <-r.Context().Done():
	case <-m.gone:
		http.Error(w, "this node ends", http.StatusServiceUnavailable)
	}
}

// call asks another node to lead, and reports whether it does.
func (m *Member) call(ctx context.Context, x election.Call) bool {
	answer, err := m.ask(ctx, http.MethodPost, x.Node+leadPath, url.Values{"position": {strconv.FormatUint(x.Position, 10)}})
	if err != nil {
		m.logger.Warn("another node does not take over", "leader", x.Node, "error", err)
		return false
	}
	m.logger.Info("another node leads", "leader", x.Node)
	_ = answer.Body.Close() // it is empty
	return true
}

// connect takes the stream of a leader, in place of the one before.
func (m *Member) connect(ctx context.Context, to string) {
	ctx, cut := context.WithCancel(ctx)
	m.unstream()
	m.unstream = cut
	m.work.Go(func() {
		err := m.receive(ctx, to)
		if ctx.Err() == nil {
			m.logger.Debug("the stream of the node that leads has ended", "leader", to, "error", err)
			m.send(election.Lost{})
		}
		cut()
	})
}

// receive takes what a leader sends until the stream ends.
func (m *Member) receive(ctx context.Context, to string) (err error) {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	late := time.AfterFunc(2*election.HeardLast, cut)
	defer late.Stop()
	answer, err := m.ask(ctx, http.MethodGet, to+logPath, url.Values{"after": {strconv.FormatUint(m.store.LogPlace().Position, 10)}, "node": {m.URL}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	for {
		f, err := commitlog.ReadFrame(answer.Body)
		if err != nil {
			return err
		}
		late.Reset(2 * election.HeardLast)
		m.seen(f.Head, true)
		m.send(election.Heard{Term: f.Term})
		if f.Entry == nil {
			continue
		}
		if err := m.take(*f.Entry); err != nil {
			return err
		}
	}
}
