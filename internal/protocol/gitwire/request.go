package gitwire

import (
	"bytes"
	"io"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// Request is what a client asks of upload-pack in one POST. One of the pointers is set. None is where the client asks nothing, as git does
// to learn whether it may post (a body of "0000"), and when everything is there already; the answer to that is empty.
type Request struct {
	Version    Version
	Agent      string // what the client calls itself; ""
	LsRefs     *LsRefs
	Fetch      *Fetch
	ObjectInfo *ObjectInfo

	// NoFormat leaves the object format out of what AppendTo writes: servers that offer none refuse a request that names it.
	NoFormat bool
}

// ParseRequest reads a request in version v, and nothing of body beyond the request. Where the request is wrong it fails with a
// [*RequestError], and [Request.AppendRefusal] of the part that it has read is the answer; else it fails with the error of body.
func ParseRequest(body io.Reader, v Version) (Request, error) {
	q := Request{Version: v}
	l := newLines(body, MaxRequest)
	if v == 2 {
		return q, q.parse2(l)
	}
	return q, q.parse0(l)
}

// parse2 reads a request of version 2: capabilities and a command in any order, then the command's arguments.
func (q *Request) parse2(l lines) error {
	asked := false
	for {
		kind, line, err := l.next()
		switch {
		case err == io.EOF && !asked:
			return nil
		case err == io.EOF:
			return cutShort("the capabilities")
		case err != nil:
			return err
		case kind == pktline.Data:
			asked = true
			if err := q.key(line); err != nil {
				return err
			}
			continue
		case kind == pktline.Flush && !asked:
			return nil
		case kind == pktline.ResponseEnd:
			return refuse("unexpected %s in the capabilities", kind)
		}
		take := q.arguments()
		if take == nil {
			return refuse("no command requested")
		}
		if kind == pktline.Delim {
			if err := l.until("the arguments of "+q.command(), take); err != nil {
				return err
			}
		}
		return q.finish()
	}
}

// key takes a line before the arguments.
func (q *Request) key(line []byte) error {
	name, value, valued := bytes.Cut(line, []byte("="))
	switch string(name) {
	case "command":
		return q.choose(string(value))
	case "agent":
		q.Agent = cleanAgent(value)
		return nil
	case "server-option": // none is known here
		return nil
	case "object-format":
		return objectFormat(string(value), valued)
	}
	return refuse("unknown capability %s", quote(line))
}

func (q *Request) choose(command string) error {
	if before := q.command(); before != "" {
		return refuse("command %s requested after already requesting command %s", quote(command), quote(before))
	}
	switch command {
	case "ls-refs":
		q.LsRefs = &LsRefs{}
	case "fetch":
		q.Fetch = &Fetch{Version: 2}
	case "object-info":
		q.ObjectInfo = &ObjectInfo{}
	default:
		return refuse("invalid command %s", quote(command))
	}
	return nil
}

func (q *Request) command() string {
	switch {
	case q.LsRefs != nil:
		return "ls-refs"
	case q.Fetch != nil:
		return "fetch"
	case q.ObjectInfo != nil:
		return "object-info"
	}
	return ""
}

// arguments returns what takes the arguments of the command, nil without a command.
func (q *Request) arguments() func(line []byte) error {
	switch {
	case q.LsRefs != nil:
		return q.LsRefs.argument
	case q.Fetch != nil:
		return newFetchReader(q.Fetch).argument2
	case q.ObjectInfo != nil:
		return (&objectInfoReader{info: q.ObjectInfo}).argument
	}
	return nil
}

// finish checks and tidies a request after its last line.
func (q *Request) finish() error {
	switch {
	case q.LsRefs != nil:
		q.LsRefs.compact()
	case q.Fetch != nil:
		return q.Fetch.finish()
	}
	return nil
}

// objectFormat refuses every format but SHA-1.
func objectFormat(name string, valued bool) error {
	switch {
	case !valued:
		return refuse("object-format capability requires an argument")
	case name == "sha256":
		return refuse("mismatched object format: server sha1; client sha256")
	case name != "sha1":
		return refuse("unknown object format %s", quote(name))
	}
	return nil
}

// AppendTo appends to dst the request in its canonical form, which git and ParseRequest read.
func (q Request) AppendTo(dst []byte) []byte {
	if q.Version != 2 {
		if q.Fetch == nil {
			return pktline.AppendFlush(dst)
		}
		return q.Fetch.append0(dst, q.Agent)
	}
	command := q.command()
	if command == "" {
		return pktline.AppendFlush(dst)
	}
	dst = pktline.Append(dst, "command="+command+"\n")
	if q.Agent != "" {
		dst = pktline.Append(dst, "agent="+q.Agent+"\n")
	}
	if !q.NoFormat {
		dst = pktline.Append(dst, "object-format=sha1\n")
	}
	dst = pktline.AppendDelim(dst)
	switch {
	case q.LsRefs != nil:
		dst = q.LsRefs.appendArguments(dst)
	case q.Fetch != nil:
		dst = q.Fetch.append2(dst)
	case q.ObjectInfo != nil:
		dst = q.ObjectInfo.appendArguments(dst)
	}
	return pktline.AppendFlush(dst)
}

// AppendRefusal appends to dst an answer that refuses the request, in a form that git shows.
func (q Request) AppendRefusal(dst []byte, text string) []byte {
	if q.Fetch != nil && q.Fetch.SidebandAll {
		return appendBandError(dst, text)
	}
	return pktline.AppendError(dst, text)
}

// appendBandError ends an answer in which all stands in bands.
func appendBandError(dst []byte, text string) []byte {
	text, _ = safetext.Cut(text, 4000) // more than anybody reads, and in one frame
	dst = pktline.AppendBand(dst, pktline.Sideband64kFrame, pktline.BandError, []byte(text))
	return pktline.AppendFlush(dst)
}
