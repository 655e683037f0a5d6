package githttp

import "sync"

const mostLines = 1000 // lines that may wait to be sent; put drops those beyond

// lines carries progress from the goroutine that works on a push to the one that writes to the client.
type lines struct {
	there chan struct{} // capacity 1: lines have come

	mu  sync.Mutex // guards the fields below
	all []string
}

func newLines() *lines { return &lines{there: make(chan struct{}, 1)} }

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) >= mostLines {
		return
	}
	l.all = append(l.all, line)
	select {
	case l.there <- struct{}{}:
	default: // the reader knows already
	}
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}
