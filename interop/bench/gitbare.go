package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// bareEnv tells a process of this program to be the bare server.
const bareEnv = "GRASPD_BENCH_BARE"

// bare is a process with net/http alone: it answers every request by bytes that it was given before. No server on net/http takes less.
type bare struct {
	process
	in io.Closer
}

// newBare starts one.
func (w *world) newBare(ctx context.Context) (*bare, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bare{process: process{cmd: exec.CommandContext(ctx, program)}}
	b.cmd.Env = append(os.Environ(), bareEnv+"=1")
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	w.closers = append(w.closers, b.end)
	addr, err := bufio.NewReader(out).ReadString('\n')
	b.url = "http://" + strings.TrimSpace(addr)
	return b, err
}

// end ends the process, which reads its input to the end.
func (b *bare) end() error { return errors.Join(b.in.Close(), b.cmd.Wait()) }

// tell says what it answers to a question.
func (b *bare) tell(ctx context.Context, q question, answer io.Reader) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, b.url+q.path, answer)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err == nil {
		err = a.Body.Close()
	}
	return err
}

// serveBare is the process.
func serveBare(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		l.Close()
	}()
	fmt.Fprintln(out, l.Addr())
	var mu sync.RWMutex
	answers := map[string][]byte{} // by path and query
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method == http.MethodPut {
			mu.Lock()
			answers[r.URL.RequestURI()] = body
			mu.Unlock()
			return
		}
		mu.RLock()
		answer := answers[r.URL.RequestURI()]
		mu.RUnlock()
		w.Header().Set("Content-Type", "application/x-git-result")
		_, _ = w.Write(answer) // a client that has left needs nothing
	}))
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
