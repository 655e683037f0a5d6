package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// misuse returns what is wrong with the flags about a repository.
func (o *restoration) misuse() (problems []string) {
	_, commit, one := strings.Cut(o.ref, "=")
	switch {
	case o.repository == "" && o.from+o.ref+o.to != "":
		problems = append(problems, "--from, --ref and --to are about a --repository: name it")
	case o.repository == "":
	case o.which != 0:
		problems = append(problems, "restore wants --case or --repository, not both")
	case o.from == "" && o.ref == "":
		problems = append(problems, "--repository wants --from with a backup, or --ref with a branch; what an operator took away comes back with --case")
	case one != (o.to != ""), one && commit == "":
		problems = append(problems, "an earlier value goes into a file: --ref BRANCH=COMMIT --to FILE")
	}
	if _, err := grasp.ParseRepository(o.repository); o.repository != "" && err != nil {
		problems = append(problems, fmt.Sprintf("--repository: %q is not allowed: %v", o.repository, err))
	}
	return problems
}

// mostToldRefused is how many refusals restore prints.
const mostToldRefused = 20

// bringBack publishes what a backup has of a repository to the running relay, and pushes its git data, as anybody could who has both: what is
// signed says what the relay takes, and what is newer there stays.
func (o *restoration) bringBack(ctx context.Context, std stdio) error {
	of, err := grasp.ParseRepository(o.repository)
	if err != nil {
		return err
	}
	events, dir, err := readBackup(ctx, o.from, of)
	if err == nil && len(events) == 0 {
		err = findings{fmt.Sprintf("%s has nothing of %s", o.from, safetext.Printable(of.String()))}
	}
	if err != nil {
		return err
	}
	var s admin.Status
	if err := o.at.read(ctx, "/status.json?most=1", &s); err != nil {
		return err
	}
	if err := o.away(ctx, of); err != nil {
		return err
	}
	relay, err := grasp.NormalizeRelay(s.Relay.URL)
	if err != nil {
		return err
	}
	service, err := grasp.ParseService(relay.Domain())
	if err != nil {
		return err
	}
	p := publication{relay: string(relay)}
	if err := p.publish(ctx, events); err != nil {
		return err
	}
	pushed := true
	if dir != "" {
		clone := service.CloneURL(of.PubKey, of.D)
		fmt.Fprintf(std.out, "pushing to %s\n", clone)
		push := gitAt(ctx, dir, "push", clone, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/nostr/*:refs/nostr/*")
		push.Stdout, push.Stderr = std.out, std.err
		pushed = push.Run() == nil
	}
	// The announcement waits for the push, and until then nobody may refer to it.
	if err := p.publish(ctx, p.takeRefused()); err != nil {
		return err
	}
	p.print(std.out)
	switch {
	case !pushed:
		return findings{"git push did not bring everything (its words stand above): branches are where the newest state has them that a maintainer has signed; an earlier value comes with --ref"}
	case len(p.refused) > 0:
		return findings{safetext.Number(len(p.refused), "event was", "events were") + " refused"}
	}
	return nil
}

// away fails where the operator took a repository or its owner away: the relay would refuse whatever is published of it.
func (o *restoration) away(ctx context.Context, of nip34.Address) error {
	for _, subject := range []url.Values{{"repository": {of.String()}}, {"author": {of.PubKey.String()}}} {
		var p moderation.Preview
		if err := o.at.read(ctx, "/deletion.json?"+subject.Encode(), &p); err != nil {
			return err
		}
		if p.Case != 0 {
			return findings{fmt.Sprintf("case %d has taken away %s, and this relay takes nothing of it: graspd restore --case %d puts it back, with what is kept aside; what is older comes from the backup after that, by this command", p.Case, called(p.Subject.String(), p.Title), p.Case)}
		}
	}
	return nil
}

// readBackup reads what a directory with a backup has of a repository.
func readBackup(ctx context.Context, from string, of nip34.Address) ([]*nostr.Event, string, error) {
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		return nil, "", misused([]string{fmt.Sprintf("--from: %s is a file; unpack it first: mkdir backup && tar -x -C backup -f %s, then --from backup", from, from)})
	}
	events, dir, err := node.ReadRepository(ctx, from, store.Defaults(), of)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is no data directory of graspd, nor a backup of one: %w", from, err)
	}
	return events, dir, err
}

// publication is what became of events that were published to a relay.
type publication struct {
	relay              string
	fresh, here, newer int
	again              bool // what was refused is published again: the relay may have kept it meanwhile
	refused            []*nostr.Event
	why                []string // of refused
}

// takeRefused returns the events that were refused, which are to be published again.
func (p *publication) takeRefused() []*nostr.Event {
	events := p.refused
	p.refused, p.why, p.again = nil, nil, true
	return events
}

// publish publishes events one after the other. It waits where the relay asks for patience.
func (p *publication) publish(ctx context.Context, events []*nostr.Event) error {
	c, _, err := websocket.Dial(ctx, p.relay, nil)
	if err != nil {
		return fmt.Errorf("publish to %s: %w", p.relay, err)
	}
	defer c.CloseNow()
	c.SetReadLimit(mostStatus)
	for i := 0; i < len(events); i++ {
		said, err := publishOne(ctx, c, events[i])
		switch {
		case err != nil:
		case strings.HasPrefix(said.Reason, "rate-limited:"):
			i--
			err = sleep.For(ctx, time.Second)
		case said.OK && strings.HasPrefix(said.Reason, "duplicate:") && !p.again:
			p.here++
		case said.OK:
			p.fresh++
		case strings.Contains(said.Reason, "a newer version"):
			p.newer++
		default:
			p.refused, p.why = append(p.refused, events[i]), append(p.why, said.Reason)
		}
		if err != nil {
			return fmt.Errorf("publish to %s: %w", p.relay, err)
		}
	}
	return nil
}

// print says what became of the events.
func (p *publication) print(out io.Writer) {
	for i, e := range p.refused[:min(len(p.refused), mostToldRefused)] {
		fmt.Fprintf(out, "refused: %s: %s\n", called(kindName(e.Kind)+" "+e.ID.String(), nip34.Title(e)), safetext.Printable(p.why[i]))
	}
	fmt.Fprintf(out, "events: %d published, %d were here, %d are here in a newer version, %d refused\n", p.fresh, p.here, p.newer, len(p.refused))
}

// publishOne publishes an event and returns the answer.
func publishOne(ctx context.Context, c *websocket.Conn, e *nostr.Event) (nostr.OK, error) {
	ctx, cancel := context.WithTimeout(ctx, decisionTimeout)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, nostr.AppendEventMsg(nil, e)); err != nil {
		return nostr.OK{}, err
	}
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return nostr.OK{}, err
		}
		if m, err := nostr.ParseRelay(b); err == nil {
			if said, ok := m.(nostr.OK); ok && said.ID == e.ID {
				return said, nil
			}
		}
	}
}

// earlier lists earlier values of a branch that are still there, or writes one into a bundle.
func (o *restoration) earlier(ctx context.Context, out io.Writer) error {
	of, err := grasp.ParseRepository(o.repository)
	if err != nil {
		return err
	}
	dir, err := o.directory(ctx, of)
	if err == nil && dir == "" {
		err = findings{"there is no git data of " + safetext.Printable(of.String())}
	}
	if err != nil {
		return err
	}
	branch, commit, one := strings.Cut(o.ref, "=")
	branch = "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
	if one {
		return o.bundle(ctx, out, dir, branch, commit)
	}
	now, err := gitAt(ctx, dir, "log", "-1", logLine, "refs/heads/"+strings.TrimPrefix(o.ref, "refs/heads/"), "--").Output()
	if err != nil {
		now = []byte("(there is no such branch now)\n")
	}
	fmt.Fprintf(out, "%s is\n  %s\n", branch, safetext.Printable(strings.TrimSpace(string(now))))
	var ids bytes.Buffer
	loose, bad := gitAt(ctx, dir, "fsck", "--connectivity-only", "--no-reflogs", "--no-progress").Output() // fails also for what is missing
	for line := range strings.Lines(string(loose)) {
		if id, ok := strings.CutPrefix(line, "dangling commit "); ok {
			ids.WriteString(id)
		}
	}
	if ids.Len() == 0 {
		if len(loose) == 0 && bad != nil {
			return fmt.Errorf("git fsck: %w", bad)
		}
		_, err = fmt.Fprintln(out, "no commit is there that no branch, tag or pull request leads to; a backup may have an earlier value (--from)")
		return err
	}
	log := gitAt(ctx, dir, "log", "--no-walk", "-n", "50", logLine, "--stdin")
	log.Stdin = &ids
	text, err := log.Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	fmt.Fprintln(out, "no branch, tag or pull request leads to these, which go two to four weeks after they were taken back:")
	for line := range strings.Lines(string(text)) {
		fmt.Fprintf(out, "  %s\n", safetext.Printable(strings.TrimSpace(line)))
	}
	_, err = fmt.Fprintf(out, "to hand one to its owner: graspd restore --repository … --ref %s=COMMIT --to FILE\n", safetext.Printable(strings.TrimPrefix(branch, "refs/heads/")))
	return err
}

const logLine = "--format=%H %cs %an: %s"

// directory returns where the git data of a repository is: in the backup, or in the data of the relay, which names the directory if it runs.
func (o *restoration) directory(ctx context.Context, of nip34.Address) (string, error) {
	if o.from != "" {
		_, dir, err := readBackup(ctx, o.from, of)
		return dir, err
	}
	_, dir, err := node.ReadRepository(ctx, o.at.data, store.Defaults(), of)
	if !errors.Is(err, store.ErrInUse) {
		return dir, err
	}
	var p moderation.Preview
	if err := o.at.read(ctx, "/deletion.json?"+url.Values{"repository": {of.String()}}.Encode(), &p); err != nil || p.GitDir == "" {
		return "", err
	}
	id, err := gitrepo.ParseID(p.GitDir)
	return node.DirectoryOf(o.at.data, refdb.Dir(id)), err
}
