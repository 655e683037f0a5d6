package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// farAway is how long after a request a server elsewhere answers.
const farAway = 20 * time.Millisecond

// elsewhere gives the URL of a server whose answers are those of another one, whose repositories are all alike: it asks for each answer once,
// and takes hardly any of this machine for it afterwards.
func (x *ground) elsewhere(at string) string {
	e := &elsewhere{at: strings.TrimSuffix(at, "/"), known: map[string]*answer{}}
	s := httptest.NewServer(e)
	x.closers = append(x.closers, func() error { s.Close(); return nil })
	return s.URL + "/"
}

type elsewhere struct {
	at string

	mu    sync.Mutex // guards what follows
	known map[string]*answer
}

type answer struct {
	status int
	head   http.Header
	body   []byte
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	a, err := e.answer(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	time.Sleep(farAway - time.Since(begun))
	for name, values := range a.head {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that has left needs nothing
}

func (e *elsewhere) answer(r *http.Request) (*answer, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, of, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // whatever the repository
	key := strings.Join([]string{r.Method, of, r.URL.RawQuery, r.Header.Get("Git-Protocol"), r.Header.Get("Content-Encoding"), string(body)}, "\n")
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.known[key]; a != nil {
		return a, nil
	}
	q, err := http.NewRequestWithContext(r.Context(), r.Method, e.at+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header = r.Header.Clone()
	res, err := manyConns.Do(q)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &answer{status: res.StatusCode, head: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return nil, err
	}
	a.head.Del("Content-Length")
	e.known[key] = a
	return a, nil
}
