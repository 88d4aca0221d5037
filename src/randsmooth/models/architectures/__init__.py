"""Networks: one file for those with residual blocks, one for small ones, and the layers that CPUs compute faster."""
