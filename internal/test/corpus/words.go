package corpus

import "strings"

// The vocabulary. Identifiers have adjectives and nouns; texts have all words.
var (
	adjectives = strings.Fields(`amber brave calm deep eager fast gentle hidden idle jolly keen light merry noble open plain quick rapid
		silent tiny urban vivid warm young atomic bright clever dusty early fresh golden humble`)
	nouns = strings.Fields(`relay signer wallet parser client server bridge editor viewer index cache router proxy gateway mirror widget
		kernel shell engine driver codec vault ledger beacon anchor harbor forge anvil lantern compass garden orchard meadow river canyon
		summit glacier island lagoon comet nebula quasar pulsar photon lattice prism matrix vector tensor cipher`)
	verbs = strings.Fields(`fix add remove rename split merge improve simplify speedup handle reject accept verify parse render cache retry
		cancel close open flush sync index search sort filter batch limit bound check`)
	words = append(strings.Fields(`the a of to and in is that it for on with as are this be by not from at or which when an but have if
		was can will after before should would does there than then into only where about each while without because still never always
		commit branch tag patch review test build release version issue request comment thread reply status label author maintainer
		repository clone fetch push pull rebase conflict event filter subscription connection timeout error message signature key hash
		tree object reference remote local upstream change diff line file path function value field type list map slice string number
		byte buffer socket stream frame packet query result page limit window batch queue lock thread memory disk network clock time`),
		append(nouns, verbs...)...)
	labels      = strings.Fields("bug enhancement documentation question duplicate wontfix security performance regression ux")
	givenNames  = strings.Fields("Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Ivan Jean Ken Leslie Margaret Niklaus Ole Radia Sophie Tim Vint")
	familyNames = strings.Fields("Adler Berg Castro Dahl Engel Fischer Garcia Haas Ito Jansen Klein Lopez Meyer Novak Okafor Petrov Quinn Rossi Sato Weber")
	unicodeBits = []string{" — größer als gedacht.", " 🚀🚀", " これはテストです。", " naïve café", " ¿por qué?", " 한국어", " <b>&amp;</b>", " \"quoted\" \\ back", " tab\there", "\r\nCRLF line"}
)
