package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/admin"
)

// listener is the private listener of a running relay, and the data directory that has the relay's key.
type listener struct {
	base, data string
	keyless    bool // what is posted changes nothing, so that no key has to prove who may
}

// settings returns the flags of a command that changes something through the listener.
func (l *listener) settings(env environment) []setting {
	return []setting{adminURL("admin", adminAt(env), "private listener of the relay", &l.base), dataSetting(&l.data), configSetting()}
}

// decisionTimeout bounds one request about what the relay keeps.
const decisionTimeout = 2 * time.Minute

func (l listener) read(ctx context.Context, path string, to any) error {
	return l.ask(ctx, http.MethodGet, path, nil, to)
}

func (l listener) post(ctx context.Context, path string, form url.Values, to any) error {
	return l.ask(ctx, http.MethodPost, path, form, to)
}

// printDocument prints a document of the listener as it is.
func (l listener) printDocument(ctx context.Context, out io.Writer, path string) error {
	b, err := l.send(ctx, http.MethodGet, path, nil)
	if err == nil {
		_, err = out.Write(b)
	}
	return err
}

// printLine makes a request and prints the line of the answer.
func (l listener) printLine(ctx context.Context, out io.Writer, method, path string, form url.Values) error {
	b, err := l.send(ctx, method, path, form)
	if err == nil {
		_, err = fmt.Fprintln(out, safetext.Printable(strings.TrimSpace(string(b))))
	}
	return err
}

// ask makes one request and decodes the JSON of the answer.
func (l listener) ask(ctx context.Context, method, path string, form url.Values, to any) error {
	b, err := l.send(ctx, method, path, form)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s%s: %w", l.base, path, err)
	}
	return nil
}

// send makes one request and returns the body of the answer. An answer other than 200 is an error with the text of that answer.
func (l listener) send(ctx context.Context, method, path string, form url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, decisionTimeout)
	defer cancel()
	code, b, err := l.get(ctx, method, path, []byte(form.Encode()))
	if err == nil && code != http.StatusOK {
		err = findings{strings.TrimSpace(string(b))}
	}
	return b, err
}

// get makes one request and returns the status code and the body of the answer.
func (l listener) get(ctx context.Context, method, path string, body []byte) (code int, answer []byte, err error) {
	r, err := l.do(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, mostStatus+1))
	if err == nil && len(b) > mostStatus {
		err = errors.New("the answer is longer than 64 MiB")
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read %s%s: %w", l.base, path, err)
	}
	return r.StatusCode, b, nil
}

// do makes one request. A POST is signed with the relay's key, as whoever can read that key may change everything; through a unix socket
// only where the key can be read, as the mode of the socket says who may. The caller closes the body of the answer.
func (l listener) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	client, base, socket := http.DefaultClient, l.base, false
	if at, ok := strings.CutPrefix(l.base, unixPrefix); ok {
		client, base, socket = clientOf(at), "http://localhost", true
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		key, err := node.ReadKey(l.data)
		if err == nil && !l.keyless {
			err = admin.Authorize(req, body, time.Now(), node.Signer(key))
		}
		if err != nil && !socket && !l.keyless {
			return nil, fmt.Errorf("the relay's key proves that you may do this (--data names the directory that has it; with the package: sudo, and --data /var/lib/graspd): %w", err)
		}
	}
	r, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer from a running graspd (--admin says where its --admin-listen is): %w", err)
	}
	return r, nil
}
