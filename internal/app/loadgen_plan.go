package app

import (
	"context"
	"fmt"
)

func (c *cli) plan(_ context.Context, _ []choice, _ *runOptions) error { return fmt.Errorf("not yet") }
