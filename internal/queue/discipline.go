package queue

import (
	"fmt"
	"strconv"
	"strings"
)

type orderKind uint8

const (
	orderFIFO orderKind = iota
	orderLIFO
	orderEDF
	orderPriority
	orderAdaptiveLIFO
)

var orderNames = [...]string{"fifo", "lifo", "edf", "priority", "adaptive-lifo"}

// shedSet is a set of sheds; shedNames is in the order of its bits.
type shedSet uint8

const (
	shedExpired shedSet = 1 << iota
	shedDeadline
	shedCodel
	shedControlledDelay
)

var shedNames = [...]string{"expired", "deadline", "codel", "controlled-delay"}

const (
	// DefaultLimit bounds a queue that evicts and was given no limit.
	DefaultLimit = 1000
	// maxLimit keeps a limit within what the memory guard can be set to.
	maxLimit          = 1_000_000_000
	maxDisciplineText = 128
)

const (
	allowedOrders = "fifo, lifo, edf, priority, adaptive-lifo, and deadline for fifo+deadline"
	allowedSheds  = "none, expired, deadline, deadline(MARGIN), codel, controlled-delay, evict, evict(LIMIT)"
)

// Discipline says how a queue is served (ORDER) and what is taken off it without
// being served (SHED). Its text form is ORDER[+SHED...]:
//
//	ORDER  fifo | lifo | edf | priority | adaptive-lifo
//	SHED   none | expired | deadline | deadline(MARGIN) | codel | controlled-delay |
//	       evict | evict(LIMIT)
//
// deadline stands for fifo+deadline. adaptive-lifo without a shed stands for
// adaptive-lifo+deadline(auto): write adaptive-lifo+none for the bare order. The
// zero Discipline is fifo. Disciplines are comparable.
type Discipline struct {
	order     orderKind
	evict     bool
	hasMargin bool // the text names one
	sheds     shedSet
	limit     int // the text's; 0 when it names none
	margin    Margin
}

// ParseDiscipline reads the text form.
func ParseDiscipline(text string) (Discipline, error) {
	var d Discipline
	fail := func(format string, a ...any) (Discipline, error) {
		return Discipline{}, fmt.Errorf("discipline %.64q: %s", text, fmt.Sprintf(format, a...))
	}
	if len(text) > maxDisciplineText {
		return fail("%d characters: allowed are up to %d", len(text), maxDisciplineText)
	}
	words := strings.Split(text, "+")
	if name, _, _ := strings.Cut(words[0], "("); name == shedNames[1] {
		words = append([]string{orderNames[orderFIFO]}, words...)
	}
	order := indexOf(orderNames[:], words[0])
	if order < 0 {
		return fail("unknown order %q: allowed are %s", words[0], allowedOrders)
	}
	d.order = orderKind(order)
	none := false
	for _, word := range words[1:] {
		if word == "none" && !none {
			none = true
		} else if err := d.add(word); err != nil {
			return fail("%v", err)
		}
	}
	switch {
	case none && d.sheds != 0:
		return fail("none together with another shed: allowed is either")
	case !none && d.sheds == 0 && d.order == orderAdaptiveLIFO:
		d.sheds, d.hasMargin, d.margin = shedDeadline, true, Margin{Auto: true}
	}
	return d, nil
}

// add takes in one SHED word.
func (d *Discipline) add(word string) error {
	name, rest, hasArgument := strings.Cut(word, "(")
	argument, closed := strings.CutSuffix(rest, ")")
	if hasArgument && !closed {
		return fmt.Errorf("%q lacks its closing bracket: allowed are %s", word, allowedSheds)
	}
	if name == "evict" && !d.evict {
		d.evict = true
		if !hasArgument {
			return nil
		}
		n, err := strconv.Atoi(argument)
		if err != nil || n < 1 || n > maxLimit || argument != strconv.Itoa(n) {
			return fmt.Errorf("limit %q: allowed is a whole number from 1 to %d", argument, maxLimit)
		}
		d.limit = n
		return nil
	}
	i := indexOf(shedNames[:], name)
	if i < 0 || hasArgument && shedSet(1)<<i != shedDeadline {
		if name == "evict" || name == "none" {
			return fmt.Errorf("%q given twice: allowed is once", name)
		}
		return fmt.Errorf("unknown shed %q: allowed are %s", word, allowedSheds)
	}
	if d.sheds&(1<<i) != 0 {
		return fmt.Errorf("%q given twice: allowed is once", name)
	}
	d.sheds |= 1 << i
	if hasArgument {
		m, err := ParseMargin(argument)
		if err != nil {
			return err
		}
		d.hasMargin, d.margin = true, m
	}
	return nil
}

// String returns the canonical text form: ParseDiscipline gives d back.
func (d Discipline) String() string {
	var b strings.Builder
	b.WriteString(orderNames[d.order])
	for i, name := range shedNames {
		if d.sheds&(1<<i) == 0 {
			continue
		}
		b.WriteString("+" + name)
		if d.hasMargin && shedSet(1)<<i == shedDeadline {
			b.WriteString("(" + d.margin.String() + ")")
		}
	}
	if d.sheds == 0 && d.order == orderAdaptiveLIFO {
		b.WriteString("+none")
	}
	if d.evict {
		b.WriteString("+evict")
		if d.limit > 0 {
			fmt.Fprintf(&b, "(%d)", d.limit)
		}
	}
	return b.String()
}

// MarshalText returns the canonical text form.
func (d Discipline) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text form; see ParseDiscipline.
func (d *Discipline) UnmarshalText(text []byte) error {
	got, err := ParseDiscipline(string(text))
	if err != nil {
		return err
	}
	*d = got
	return nil
}

// HasDeadline reports whether a deadline shed is part of d, so that a margin
// makes a difference.
func (d Discipline) HasDeadline() bool { return d.sheds&shedDeadline != 0 }

// Margin returns the margin that d works with when given is what was configured
// beside it (nil: nothing): the given one, else the one in d's text, else
// DefaultMargin; 0s without a deadline shed.
func (d Discipline) Margin(given *Margin) Margin {
	switch {
	case !d.HasDeadline():
		return Margin{}
	case given != nil:
		return *given
	case d.hasMargin:
		return d.margin
	}
	return Margin{D: DefaultMargin}
}

// bound returns the limit that d evicts at, by the same precedence; 0 when it does not.
func (d Discipline) bound(given int) int {
	switch {
	case !d.evict:
		return 0
	case given > 0:
		return given
	case d.limit > 0:
		return d.limit
	}
	return DefaultLimit
}

func (d Discipline) newOrder(c Config) (Order, Keyed) {
	switch d.order {
	case orderLIFO:
		return lifo{}, nil
	case orderAdaptiveLIFO:
		return adaptiveLIFO{}, nil
	case orderEDF:
		return nil, edf{}
	case orderPriority:
		return nil, priority{c.Classes}
	}
	return fifo{}, nil
}

func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}
