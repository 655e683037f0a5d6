package paging

import "slices"

// How a Pager goes on when a connection is lost.
const (
	mostLosses = 64      // connections lost in a row, after which the Pager asks the same again
	MostLarge  = 64      // seconds that are left out
	firstPart  = 1 << 16 // seconds that are asked first, where a connection ended before anything came
)

// Lost records that the connection was lost while the answer was under way, at the time now. Whoever reads on with another connection calls
// Resume. Where something came, the rest is asked in parts, as after Cut. Where nothing came, the next event may be so large that it ends the
// connection: then the newest part is asked alone, half as long each time, and a second that ends the connection alone is left out. Lost reports
// whether the next question is another one.
func (p *Pager) Lost(now int64) bool {
	defer p.Forget()
	if len(p.todo) == 0 {
		return false
	}
	w := p.todo[len(p.todo)-1]
	if asked := w.next(); p.page.n > 0 && asked.Since < asked.Until {
		p.losses = 0
		if h := p.habits; h.bore && p.page.n <= 2*h.part && !p.again { // it may only have come late
			p.again = true
			p.Again()
		} else {
			p.Cut(false)
		}
		return true
	}
	p.Again()
	p.pages++ // it counts against the bound
	if p.losses++; p.losses > mostLosses {
		return false
	}
	w.lost++
	if w.lost == 1 { // it may have ended for another reason
		p.todo[len(p.todo)-1] = w
		return false
	}
	p.todo = p.todo[:len(p.todo)-1]
	p.narrow(w, now)
	return true
}

// Lost takes the end of the connection, before the Pagers do. From then on an answer is to have an eighth of the events that came on that connection, as
// what is in flight when the next one ends comes once more; and less where no answer ended.
func (h *Habits) Lost() {
	switch n := h.came / 8; {
	case h.part == 0 || h.ended:
		h.part = max(h.part, n, fewCut)
	default:
		h.part = max(1, h.part/2)
	}
	h.bore = h.ended
	h.came, h.ended = 0, false
}

// Loses reports whether a connection was lost. What is under way when the next one is lost comes once more.
func (h *Habits) Loses() bool { return h.part > 0 }

// narrow asks for less of a window that ended connections before anything came.
func (p *Pager) narrow(w window, now int64) {
	asked := w.next()
	switch soon := now + 24*3600; {
	case asked.Since == asked.Until:
		p.leaveOut(asked.Since)
		p.push(Span{w.Since, w.Until - 1}, window{width: firstPart, lost: w.lost})
	case w.Until > soon && w.Since <= soon: // nobody knows where a window begins that has no end
		p.push(Span{w.Since, soon}, window{width: firstPart, lost: w.lost})
		p.push(Span{soon + 1, w.Until}, window{lost: w.lost})
	default:
		w.width = max(1, min(firstPart, (asked.Until-asked.Since+1)/2))
		p.todo = append(p.todo, w)
	}
}

// leaveOut notes a second that is not to be asked for.
func (p *Pager) leaveOut(second int64) {
	p.unproven = true
	if len(p.habits.large) < MostLarge {
		p.habits.large = append(p.habits.large, second)
	}
}

// avoid leaves out of what is asked next the seconds that ended connections.
func (p *Pager) avoid() {
	for len(p.todo) > 0 {
		w := p.todo[len(p.todo)-1]
		i := slices.IndexFunc(p.habits.large, w.has)
		if i < 0 {
			return
		}
		at := p.habits.large[i]
		p.unproven = true
		p.todo = p.todo[:len(p.todo)-1]
		p.push(Span{w.Since, at - 1}, window{width: w.width, of: w.of, lost: w.lost})
		p.push(Span{at + 1, w.Until}, window{width: w.width, lost: w.lost})
	}
}

// Resume has the Pager go on with another connection. What the relay has since then on is asked for once more at the end, as it may have come
// while there was no connection.
func (p *Pager) Resume(since int64, h *Habits) {
	p.habits = h
	if p.late == 0 || since < p.late {
		p.late = since
	}
}
