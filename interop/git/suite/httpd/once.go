package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// oncePerl does what apply-one-time-perl.sh does under Apache: where a test has left a program of perl, it changes one answer under
// /one_time_perl/, and then the program goes.
func oncePerl(root string, next http.Handler) http.Handler {
	program := filepath.Join(root, "one-time-perl")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		script, err := os.ReadFile(program)
		if err != nil || !strings.HasPrefix(r.URL.Path, "/one_time_perl/") {
			next.ServeHTTP(w, r)
			return
		}
		before := &kept{head: http.Header{}, code: http.StatusOK}
		next.ServeHTTP(before, r)
		cmd := exec.Command("perl", "-pe", string(script))
		cmd.Dir, cmd.Env = root, append(os.Environ(), "LC_ALL=C")
		cmd.Stdin, cmd.Stderr = &before.body, os.Stderr
		was := before.body.String()
		body, err := cmd.Output()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if string(body) != was {
			_ = os.Remove(program) // the test says so if it is still there
		}
		for name, values := range before.head {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(before.code)
		_, _ = io.Copy(w, bytes.NewReader(body)) // the client may have gone
	})
}

// kept is an answer that is not sent yet.
type kept struct {
	head http.Header
	code int
	body bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.head }
func (k *kept) WriteHeader(code int)        { k.code = code }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }

// What http.ResponseController asks for: nobody waits for what is kept.

func (k *kept) FlushError() error                { return nil }
func (k *kept) EnableFullDuplex() error          { return nil }
func (k *kept) SetReadDeadline(time.Time) error  { return nil }
func (k *kept) SetWriteDeadline(time.Time) error { return nil }
