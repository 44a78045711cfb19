/* mlp: input -> hidden -> ... -> hidden -> classes, linear layers with GELU between and softmax cross-entropy at the end.
 *
 * Legend: B samples of a batch, D(l) width of layer l's input, so D = {input, hidden, ..., hidden, classes}. A layer's parameters
 * are weights (D(l), D(l+1)), then bias (D(l+1)). Initial ones are uniform in +-1/sqrt(D(l)), torch.nn.Linear's default. */
#ifndef LOCKSTEP_MLP_H
#define LOCKSTEP_MLP_H

struct mlp_settings {
    int input_dim, hidden_dim, num_classes;
    int num_layers; /* L: linear layers */
};

extern const struct model_type mlp_type;

#endif
