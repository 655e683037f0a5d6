package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// attackersCommand is how this program starts itself as the attackers of one attack:
//
//	siege attackers NAME URL
//
// They make ready what the attack needs, and print a line then. They attack from the first line of their input until it ends. Then they print an
// outcome as JSON.
//
// Attackers have machines of their own. Here they share one with graspd and with those whom they harm, and get what these leave of it.
const attackersCommand = "attackers"

const lowest = "19" // as nice counts

// outcome is what came of an attack, as its attackers tell.
type outcome struct {
	Got     string   // what they did and got
	Refusal string   // the first refusal that they heard
	Note    string   // what the attack brought about itself
	Faults  []string // what must not be, and was
	Failed  string   // why they gave up
}

// attackers are a process that makes one attack.
type attackers struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	says lastWords
}

// newAttackers starts the attackers of an attack, and waits until all is ready that the attack needs.
func newAttackers(ctx context.Context, a attack, url string) (*attackers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &attackers{cmd: exec.CommandContext(ctx, "nice", "-n", lowest, self, attackersCommand, a.name, url)}
	p.cmd.Stderr = &p.says
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare: %s", p.says.String()), p.leave())
	}
	return p, nil
}

// strike lets them attack until ctx ends, and says what came of it.
func (p *attackers) strike(ctx context.Context) (o outcome, err error) {
	if _, err := io.WriteString(p.in, "now\n"); err != nil {
		return o, err
	}
	defer context.AfterFunc(ctx, func() { p.in.Close() })()
	if err := json.NewDecoder(p.out).Decode(&o); err != nil {
		return o, fmt.Errorf("the attackers: %w: %s", err, p.says.String())
	}
	return o, nil
}

// leave ends them, wherever they are.
func (p *attackers) leave() error {
	p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

// attackAs is the process of the attackers.
func attackAs(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("attackers NAME URL")
	}
	i := slices.Index(names(), args[0])
	if i < 0 {
		return fmt.Errorf("there is no attack %q", args[0])
	}
	a, s := attacks[i], &scene{url: args[1]}
	defer s.leave()
	if a.prepare != nil {
		if err := a.prepare(ctx, s); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	input := bufio.NewReader(in)
	if _, err := input.ReadString('\n'); err != nil {
		return nil // nobody wants it any more
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	go func() {
		_, _ = io.Copy(io.Discard, input)
		over()
	}()
	err := a.strike(ctx, s)
	if ctx.Err() != nil {
		err = nil
	}
	return json.NewEncoder(out).Encode(s.outcome(err))
}

func (s *scene) outcome(err error) outcome {
	o := outcome{Got: s.got.String(), Note: s.note, Faults: slices.Sorted(maps.Keys(s.wrong))}
	if r := s.got.refusal.Load(); r != nil {
		o.Refusal = strings.ToValidUTF8(*r, "")
	}
	if err != nil {
		o.Failed = err.Error()
	}
	return o
}
