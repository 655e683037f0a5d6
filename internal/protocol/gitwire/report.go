package gitwire

import (
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// Outcome says what became of one command.
type Outcome struct {
	Ref     string
	Refused string // why the command was not carried out; "" where it was
}

// AppendReport appends to dst the end of the answer to a push, in the form that the client wants: what became of the pack (unpack is ""
// when all is well, else it says why not) and of each command. A client that wants no report gets the end of its side-band alone.
func (p *Push) AppendReport(dst []byte, unpack string, outcomes []Outcome) []byte {
	if p.Report != ReportNone {
		report := appendReport(nil, unpack, outcomes)
		if p.Sideband {
			dst = pktline.AppendBand(dst, pktline.Sideband64kFrame, pktline.BandData, report)
		} else {
			dst = append(dst, report...)
		}
	}
	if p.Sideband {
		dst = pktline.AppendFlush(dst)
	}
	return dst
}

func appendReport(dst []byte, unpack string, outcomes []Outcome) []byte {
	if unpack == "" {
		unpack = "ok"
	}
	dst = pktline.Append(dst, "unpack "+oneLine(unpack)+"\n")
	for i := range outcomes {
		if outcomes[i].Refused == "" {
			dst = pktline.Append(dst, "ok "+outcomes[i].Ref+"\n")
		} else {
			dst = pktline.Append(dst, "ng "+outcomes[i].Ref+" "+oneLine(outcomes[i].Refused)+"\n")
		}
	}
	return pktline.AppendFlush(dst)
}

// oneLine makes a reason fit into one line of a report.
func oneLine(reason string) string {
	reason, _ = safetext.Cut(reason, 1000)
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, reason)
}

// RefuseAll returns the outcomes of a push that is refused for one reason. Invalid commands keep reasons of their own.
func (p *Push) RefuseAll(reason string) []Outcome {
	all := make([]Outcome, 0, len(p.Commands)+len(p.Invalid))
	for i := range p.Commands {
		all = append(all, Outcome{p.Commands[i].Ref, reason})
	}
	for i := range p.Invalid {
		all = append(all, Outcome{p.Invalid[i].Ref, p.Invalid[i].Reason})
	}
	return all
}

// AppendRefusal appends to dst an answer that refuses the whole push before anybody judged its commands, in a form that git shows.
func (p *Push) AppendRefusal(dst []byte, text string) []byte {
	if p.Sideband {
		return appendBandError(dst, text)
	}
	return pktline.AppendError(dst, text)
}
