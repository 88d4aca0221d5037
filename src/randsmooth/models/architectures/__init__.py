"""Networks: one file for those with residual blocks, one for those without."""
