package refs

// Bounds of the text that explains a refusal.
const (
	mostLines  = 10 // refs that the text names
	mostOthers = 64 // states by others than members that explain looks at, as anybody may publish states
)

// align judges the commands on branches and tags, sorted by name. The commands succeed if they leave the repository exactly as a candidate
// says. A candidate is a state by a confirmed maintainer that would rule if it were complete. Commands that change nothing always succeed.
func (j *judge) align(commands []int) {
	if len(commands) == 0 {
		return
	}
	now := j.in.Projection.Refs
	var changes Set
	var moving, stale []int
	for _, i := range commands {
		c := j.push.Commands[i]
		at := now.Get(c.Ref)
		if c.New == at {
			continue // the client sends old = new, or another push or a fetch has made the change
		}
		moving = append(moving, i)
		changes = append(changes, Ref{c.Ref, c.New})
		if c.Old != at {
			stale = append(stale, i)
		}
	}
	after := now.with(changes)
	switch best := j.best(after); {
	case len(stale) > 0:
		j.refuseStale(moving, stale)
	case best != nil:
		j.v.State = best
	case len(moving) > 0:
		j.explain(moving, changes, after)
	}
}

// best returns the newest candidate with these refs, nil if there is none.
func (j *judge) best(after Set) *State {
	var best *State
	for i := range j.in.States {
		s := &j.in.States[i]
		if j.candidate(s) && s.Refs.Equal(after) && (best == nil || s.Newer(best.Stamp)) {
			best = s
		}
	}
	return best
}

// candidate reports whether a push may bring the objects for which s waits.
func (j *judge) candidate(s *State) bool {
	return s.D == j.in.Of.D && j.in.Projection.yields(*s, j.in.Members)
}

func (j *judge) refuseStale(moving, stale []int) {
	for _, i := range moving {
		j.refuse(i, WithOthers, refusedWithOthers)
	}
	for n, i := range stale {
		c := j.push.Commands[i]
		at := j.in.Projection.Refs.Get(c.Ref)
		j.refuse(i, Moved, refusedMoved(at))
		if n < mostLines {
			j.line(j.say.moved(c.Ref, at, c.Old))
		}
	}
	if more := len(stale) - mostLines; more > 0 {
		j.line(j.say.more(more))
	}
}

// noState says that no state is there for the push, and how one comes.
func (j *judge) noState() {
	j.line(j.say.noState())
	j.v.Lines = append(j.v.Lines, j.say.stateBy()...)
}

func (j *judge) line(s string) { j.v.Lines = append(j.v.Lines, s) }

// explain refuses the commands that change something. It says what keeps the push from the state that the pusher most likely means: a state
// exactly as the push, else the newest.
func (j *judge) explain(moving []int, changes, after Set) {
	var e explanation
	others := 0
	for i := range j.in.States {
		s := &j.in.States[i]
		if s.D != j.in.Of.D {
			continue
		}
		if member := j.in.Members.Has(s.Author); !member {
			if others++; others > mostOthers {
				continue
			}
		}
		e.look(j, s, after)
	}
	refuse := func(c Cause, reason string) {
		for _, i := range moving {
			j.refuse(i, c, reason)
		}
	}
	ruling := j.in.Projection.State
	switch {
	case e.theirs != nil:
		refuse(NotMaintainer, refusedAuthor)
		j.line(j.say.notMaintainer(e.theirs.Author, j.in.Members.HasInvited(e.theirs.Author)))
	case e.passed != nil:
		refuse(OlderState, refusedOlder(ruling))
		j.line(j.say.older(*e.passed, ruling))
	case e.flawed != nil && (e.open == nil || e.flawed.Refs.Equal(after)):
		refuse(FlawedState, refusedFlaw(*e.flawed))
		j.line(j.say.flawed(*e.flawed))
	case e.open != nil:
		refuse(OtherState, refusedState(*e.open))
		j.differ(*e.open, changes, after)
	case e.older != nil: // somebody's that waits from before, or the pusher's, whose clock is behind
		refuse(NoState, refusedNoState)
		j.noState()
		j.line(j.say.older(*e.older, ruling))
	case e.invited != nil:
		refuse(NotMaintainer, refusedAuthor)
		j.line(j.say.notMaintainer(e.invited.Author, true))
	default:
		refuse(NoState, refusedNoState)
		j.noState()
	}
}

// explanation holds the newest state of each sort that the pusher may mean.
type explanation struct {
	theirs  *State // exactly as the push, and not by a maintainer
	passed  *State // exactly as the push, by a maintainer, and older than the ruling state
	open    *State // a candidate: by a maintainer, and it would rule if it were complete
	flawed  *State // by a maintainer, of any age, and no repository can be as it says
	older   *State // by a maintainer, and older than the ruling state
	invited *State // by somebody who is invited
}

func (e *explanation) look(j *judge, s *State, after Set) {
	exact := s.Refs.Equal(after)
	switch {
	case !j.in.Members.Has(s.Author):
		if exact {
			newest(&e.theirs, s)
		}
		if j.in.Members.HasInvited(s.Author) {
			newest(&e.invited, s)
		}
	case j.candidate(s):
		newest(&e.open, s)
	case s.Flaw != "":
		newest(&e.flawed, s)
	default:
		if exact {
			newest(&e.passed, s)
		}
		newest(&e.older, s)
	}
}

func newest(of **State, s *State) {
	if *of == nil || s.Newer((*of).Stamp) {
		*of = s
	}
}

// differ adds a line for each of the first refs that the push would leave elsewhere than the state wants.
func (j *judge) differ(s State, changes, after Set) {
	first, all := differences(s.Refs, after, mostLines)
	for _, d := range first {
		_, pushed := changes.find(d.name)
		j.line(j.say.differs(s, d.name, d.a, d.b, pushed))
	}
	if more := all - len(first); more > 0 {
		j.line(j.say.more(more))
	}
}
