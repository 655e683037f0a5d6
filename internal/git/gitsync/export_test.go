package gitsync

import (
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// BooksKept is of how many repositories it is kept how their servers answered.
const PagesKept = pagesKept

// AnswerOf says what an error tells about a server.
func AnswerOf(err error) (gitplan.Answer, time.Duration) { return answerOf(err, gitfetch.Result{}) }

// AnswerAfterRefs is the same of one that comes after the refs were read.
func AnswerAfterRefs(err error) gitplan.Answer {
	answer, _ := answerOf(err, gitfetch.Result{Refs: &gitwire.Refs{}})
	return answer
}

// Noted takes note of how a server answered.
func (s *Sync) Noted(of nip34.Address, source grasp.Source, at time.Time, err error) {
	s.fetchLog.noted(gitplan.Fetch{Of: of, Source: source}, at, err, "")
}

// Looked takes note of what a repository lacks.
func (s *Sync) Looked(l refdb.Lack) { s.fetchLog.looked(l) }

// Known is of how many repositories something is known.
func (s *Sync) Known() int { return len(s.fetchLog.all()) }

// InTurn puts the groups of a fetch in the order in which they are asked for.
func InTurn(fetch uint64, groups []int) { inTurn(fetch, groups) }
