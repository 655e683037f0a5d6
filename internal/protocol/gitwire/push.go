package gitwire

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/pktline"
)

// Push is the list of commands with which a push begins. If NeedsPack, the pack follows the list in the stream.
type Push struct {
	Commands []Command // in the order of the request, each ref once
	Invalid  []Invalid // commands that no rule could allow
	Shallows []ObjectID
	Options  []string

	Report                                   Report
	Sideband, Quiet, Atomic, WithPushOptions bool
	Agent                                    string // what the client calls itself; ""
}

// Command changes a ref. A Command creates the ref if Old is zero, and deletes the ref if New is.
type Command struct {
	Ref      string
	Old, New ObjectID
}

// Invalid is a command for a ref that cannot exist, with the reason.
type Invalid struct {
	Command
	Reason string
}

// Report says in which form a client wants to hear what became of its commands.
type Report uint8

// The forms of reports. The second may tell more of a command than the first, if a server does other than it was told, and is
// the same here.
const (
	ReportNone Report = iota
	ReportStatus
	ReportStatusV2
)

// Empty reports whether the push has no command. git sends such a push (a body of "0000") to find out whether it may post. The answer to it
// is empty.
func (p *Push) Empty() bool { return len(p.Commands)+len(p.Invalid) == 0 }

// NeedsPack reports whether a pack follows the commands. Clients that only delete send none.
func (p *Push) NeedsPack() bool {
	return slices.ContainsFunc(p.Commands, func(c Command) bool { return !c.New.IsZero() }) ||
		slices.ContainsFunc(p.Invalid, func(c Invalid) bool { return !c.New.IsZero() })
}

// Tips returns how many of the commands are for refs of pull requests, below refs/nostr/.
func (p *Push) Tips() (n int) {
	for _, c := range p.Commands {
		if isTip(c.Ref) {
			n++
		}
	}
	return n
}

func isTip(ref string) bool { return strings.HasPrefix(ref, "refs/nostr/") }

// ParsePush reads the list of commands, and nothing of body beyond the list. Where the list is wrong it fails with a [*RequestError], and
// [Push.AppendRefusal] of the part that it has read is the answer; else it fails with the error of body. Commands for refs to which git
// takes no push are no error: they are in Push.Invalid.
func ParsePush(body io.Reader) (*Push, error) {
	r := &pushReader{push: &Push{}, named: map[string]bool{}}
	l := newLines(body, MaxPush)
	kind, line, err := l.next()
	switch {
	case err == io.EOF, err == nil && kind == pktline.Flush:
		return r.push, nil
	case err != nil:
		return r.push, err
	case kind != pktline.Data:
		return r.push, refuse("unexpected %s in the commands", kind)
	}
	if err := r.line(line); err != nil {
		return r.push, err
	}
	if err := l.until("the commands", r.line); err != nil {
		return r.push, err
	}
	if r.push.Empty() { // there is nobody to report to
		return &Push{Shallows: r.push.Shallows}, nil
	}
	if r.push.WithPushOptions {
		return r.push, l.until("the push options", r.option)
	}
	return r.push, nil
}

type pushReader struct {
	push     *Push
	shallows ids
	named    map[string]bool // the refs of the commands
	tips     int             // refs of events among them
}

// line takes a line of the list: a command or a shallow commit, and after a NUL what the client wants besides.
func (r *pushReader) line(line []byte) error {
	line, features, more := bytes.Cut(line, []byte{0})
	if more {
		for feature := range strings.SplitSeq(string(features), " ") {
			if err := r.feature(feature); err != nil {
				return err
			}
		}
	}
	if string(line) == "push-cert" {
		return refuse("signed pushes are not taken here, as refs follow signed events: push without --signed")
	}
	if text, ok := bytes.CutPrefix(line, []byte("shallow ")); ok {
		id, err := ParseObjectID(text)
		if err == nil && !r.shallows.add(id, MaxShallows) {
			err = refuse("more than %d shallow commits", MaxShallows)
		}
		r.push.Shallows = r.shallows.list
		return err
	}
	return r.command(line)
}

// feature takes one capability that the client names. Unknown ones change nothing, as with git.
func (r *pushReader) feature(word string) error {
	p := r.push
	switch word {
	case "report-status":
		p.Report = max(p.Report, ReportStatus)
	case "report-status-v2":
		p.Report = ReportStatusV2
	case "side-band-64k":
		p.Sideband = true
	case "quiet":
		p.Quiet = true
	case "atomic":
		p.Atomic = true
	case "push-options":
		p.WithPushOptions = true
	}
	if name, ok := strings.CutPrefix(word, "agent="); ok {
		p.Agent = cleanAgent(name)
	}
	if name, ok := strings.CutPrefix(word, "object-format="); ok && name != "sha1" {
		return refuse("unsupported object format %s: the repositories here are of SHA-1", quote(name))
	}
	return nil
}

// command takes "<old> <new> <ref>".
func (r *pushReader) command(line []byte) error {
	parts := bytes.SplitN(line, []byte(" "), 3)
	if len(parts) < 3 {
		return refuse("expected old/new/ref, got %s", quote(line))
	}
	c := Command{Ref: string(parts[2])}
	var err error
	if c.Old, err = ParseObjectID(parts[0]); err != nil {
		return err
	}
	if c.New, err = ParseObjectID(parts[1]); err != nil {
		return err
	}
	p := r.push
	switch {
	case !reportable(c.Ref):
		return refuse("%s is no ref name that git takes", quote(c.Ref))
	case r.named[c.Ref]:
		return refuse("multiple updates for ref %s not allowed", quote(c.Ref))
	case len(p.Commands)+len(p.Invalid) >= MaxCommands:
		return refuse("more than %d refs in one push: push some at a time", MaxCommands)
	}
	r.named[c.Ref] = true
	if err := r.check(c.Ref); err != nil {
		p.Invalid = append(p.Invalid, Invalid{c, err.Error()})
		return nil
	}
	p.Commands = append(p.Commands, c)
	return nil
}

// check returns why no rule could allow a command for a ref.
func (r *pushReader) check(ref string) error {
	if err := CheckRefName(ref); err != nil {
		return err
	}
	if !isTip(ref) {
		return nil
	}
	if r.tips++; r.tips > MaxTips {
		return fmt.Errorf("more than %d refs of pull requests in one push: push again for the rest", MaxTips)
	}
	return nil
}

// reportable reports whether a line of a report can name the ref such that its client knows which one is meant.
func reportable(ref string) bool {
	return ref != "" && len(ref) <= 4*MaxRefName && !strings.ContainsFunc(ref, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// option takes a push option. Nobody here asks for any, so those beyond MaxPushOptions are forgotten.
func (r *pushReader) option(line []byte) error {
	if len(r.push.Options) < MaxPushOptions {
		r.push.Options = append(r.push.Options, string(line))
	}
	return nil
}

// AppendTo appends to dst the list in its canonical form, which git and ParsePush read.
func (p *Push) AppendTo(dst []byte) []byte {
	dst = appendIDs(dst, "shallow ", p.Shallows)
	features := p.features()
	for _, c := range p.Commands {
		dst = appendCommand(dst, c, features)
		features = ""
	}
	for _, c := range p.Invalid {
		dst = appendCommand(dst, c.Command, features)
		features = ""
	}
	dst = pktline.AppendFlush(dst)
	if p.WithPushOptions {
		for _, option := range p.Options {
			dst = pktline.Append(dst, option+"\n")
		}
		dst = pktline.AppendFlush(dst)
	}
	return dst
}

func appendCommand(dst []byte, c Command, features string) []byte {
	start := len(dst)
	dst = c.New.AppendHex(append(c.Old.AppendHex(pktline.Begin(dst)), ' '))
	dst = append(append(dst, ' '), c.Ref...)
	if features != "" {
		dst = append(append(dst, 0), features...)
	}
	return pktline.End(dst, start)
}

// features returns the capabilities that the client names, as git writes them.
func (p *Push) features() string {
	var b strings.Builder
	switch p.Report {
	case ReportStatus:
		b.WriteString(" report-status")
	case ReportStatusV2:
		b.WriteString(" report-status-v2")
	}
	for _, flag := range []flag{{" side-band-64k", &p.Sideband}, {" quiet", &p.Quiet}, {" atomic", &p.Atomic}, {" push-options", &p.WithPushOptions}} {
		if *flag.set {
			b.WriteString(flag.word)
		}
	}
	b.WriteString(" object-format=sha1")
	if p.Agent != "" {
		b.WriteString(" agent=" + p.Agent)
	}
	return b.String()
}
