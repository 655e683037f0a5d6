package githttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// push answers a POST to git-receive-pack.
func (x *exchange) push() error {
	raw, plain, err := x.open(longest)
	if err != nil {
		return err
	}
	if err := ignoreUnsupported(x.out.c.EnableFullDuplex()); err != nil { // the answer begins while the pack still comes
		return err
	}
	// A client may still send when the answer is whole. git, by libcurl, then stops and reads the answer if it knows that the connection ends;
	// else it sends until it is cut off, and prints that instead.
	x.w.Header()["Connection"] = []string{"close"}
	in := &metered{x: x, src: plain}
	p, err := gitwire.ParsePush(in)
	in.rest()
	if err == nil {
		err = x.charge(stepsPerCommand*len(p.Commands) + stepsPerTip*p.Tips())
	}
	var known *failure
	var wrong *gitwire.RequestError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		x.unread(p, wrong.Text)
	case errors.Is(err, errSlow):
		x.unread(p, "the push is too slow: "+errSlow.Error())
	case errors.Is(err, errInflates):
		x.unread(p, errInflates.Error())
	case err != nil:
		x.unread(p, "the list of commands cannot be read to its end")
	case p.Empty():
		x.pushed(PushNothing)
		x.reply("result", nil)
	default:
		x.head("result")
		most := x.maxPush.Load()
		pu := &pusher{x: x, push: p, raw: raw, lines: newLines(), most: most, pack: &pack{src: plain, left: most, bounded: most > 0}, began: time.Now()}
		pu.run()
	}
	raw.drain(drainBytes)
	return nil
}

// unread refuses a push whose commands could not be read.
func (x *exchange) unread(p *gitwire.Push, text string) {
	x.pushed(PushUnread)
	x.head("result")
	x.out.send(p.AppendRefusal(nil, text))
	_ = x.out.Flush() // a client that does not read has left
}

// pushed counts a push by its outcome.
func (x *exchange) pushed(o Outcome) {
	x.counts.pushes[o].Add(1)
	switch o {
	case PushTaken:
		x.count(FromUpload)
	case PushNothing:
		x.count(FromNone)
	default:
		x.count(Refused)
	}
}

// pack reads the pack of a push, with a bound.
type pack struct {
	src     *bufio.Reader
	left    int64
	bounded bool
	err     error // why the pack was not read to its end
}

var errTooLarge = errors.New("the pack is larger than what may be pushed at once")

func (p *pack) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.src.Read(b)
	if p.left -= int64(n); p.left < 0 && p.bounded {
		err = errTooLarge
	}
	if err != nil && err != io.EOF {
		p.err = err
	}
	return n, err
}

// complaint says why a pack was not read to its end.
func complaint(err error, most int64) string {
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Sprintf("the pack has more than the %d MiB that may be pushed at once: push some commits at a time", most>>20)
	case errors.Is(err, errGreedy):
		return errGreedy.Error()
	case errors.Is(err, errSlow):
		return "the push is too slow: " + err.Error()
	case errors.Is(err, errInflates):
		return errInflates.Error()
	}
	return "the pack cannot be read to its end"
}
